import type { HistoryEntry } from '../../nodes/shared/generation/historyEntries';
import { matchHistory, type Claim } from '../../nodes/shared/generation/historyMatching';

/* The match by itself: `mine` beside `others` of its prompt, the entries by number, the oldest first. */

const claimed = (fields: Partial<Claim>): Claim => ({
	...{ key: 'k', prompt: 'P', began: 1000, expected: 1, kind: 'video', digest: 'x' },
	...{ withImages: false, ids: new Set(), lost: true, until: Infinity, wants: 1, got: 0 },
	marks: new Set(),
	...fields,
});
type Entry = Partial<HistoryEntry>;
const listed = (fields: Entry, index: number): HistoryEntry => {
	const id = `e${index}`;
	const files = fields.failed ? [] : [{ id, fileUrl: `https://a.example/${id}`, fields: {} }];
	const made = { createdAt: 2000 + index, clockOffsetMs: 0 };
	const own = { record: {}, id, prompt: 'P', ...made, failed: false };
	return { ...own, files, place: -index, marks: [id], ...fields };
};

/** What a request gets: these; nothing while all are candidates, or for good; or all after so long. */
type Expected = number[] | 'listed' | 'hopeless' | { afterMs: number };

/** The requests and what is known of the entries; `mine` was lost, as the others are unless they say so. */
interface Setting {
	mine?: Partial<Claim>;
	others?: Array<Partial<Claim>>;
	taken?: string;
}

const two = { expected: 2, wants: 2 };
const named = (id: string) => ({ ids: new Set([id]) });
const [LANDSCAPE, PORTRAIT] = ['VIDEO_ASPECT_RATIO_LANDSCAPE', 'VIDEO_ASPECT_RATIO_PORTRAIT'];
/** An id that is not there yet. */
const told = named('e9');
const images = { withImages: true };
const streaming = { others: [{ lost: false }] };
const different = { digest: 'y' };
const telling = { ...different, lost: false };
const forWide = { aspectRatio: LANDSCAPE };
/** An id told to a request of another prompt. */
const toldElsewhere = [{ prompt: 'Q', ...named('e0') }];
/** Beside a request for another aspect ratio. */
const shaped = { mine: forWide, others: [{ ...different, aspectRatio: PORTRAIT }] };
const [wide, tall] = [LANDSCAPE, PORTRAIT].map((ratio) => ({ record: { aspect_ratio: ratio } }));
const later = [
	{ ...different, began: Infinity },
	{ digest: 'z', began: 9000 },
];

test.each<[string, entries: number | Entry[], Expected, Setting?]>([
	['nothing, while there is nothing', 0, []],
	['the only entry', 1, [0]],
	['a part of its entries', 1, [0], { mine: two }],
	['nothing of too many', 2, 'hopeless'],
	['nothing of another prompt', [{ prompt: 'Q' }], []],
	['nothing made before it', [{ createdAt: -5000 }], []],
	['nothing made after its end', 1, [], { mine: { until: 1500 } }],
	['nothing of another kind', [{ record: { type: 'image' } }], []],
	['nothing that somebody has', 2, [1], { taken: 'e0' }],
	['what an event told', 3, [1], { mine: named('e1') }],
	['nothing told to two', 1, [], { mine: named('e0'), others: toldElsewhere }],
	['nothing told to another', 2, [1], { others: toldElsewhere }],
	['nothing beside a file under another name', 1, [], { mine: { ...two, got: 1 } }],
	['its share of equal requests', 2, [1], { others: [{ began: 500 }] }],
	['nothing of a share that is not even', 1, 'listed', { others: [{}] }],
	[
		'nothing of a share that only one of them can have made',
		[{}, {}, { createdAt: 9000 }],
		'listed',
		{ others: [{ began: 6000, ...two }] },
	],
	['nothing of more than it and an equal one asked for', 3, 'hopeless', { others: [{}] }],
	['nothing while an equal one is on its stream', 1, 'listed', streaming],
	['nothing while one is on its stream, even when the number fits', 2, 'listed', streaming],
	['nothing yet of too many, while one is on its stream', 3, 'listed', streaming],
	['nothing beside a different one', 1, 'listed', { others: [different] }],
	['nothing of what it or a different one has made', 2, 'hopeless', { others: [different] }],
	['nothing while another may still tell an id', 2, 'listed', { others: [telling] }],
	['nothing while an id of another is due', 2, 'listed', { others: [{ ...different, ...told }] }],
	['nothing while its own id is awaited', 2, 'listed', { mine: told, others: [different] }],
	['what was made before a different one was sent', 1, [0], { others: later }],
	['what has its own aspect ratio', [{ ...tall }, { ...wide }], [1], shaped],
	['nothing that tells no aspect ratio', 1, 'listed', shaped],
	['what a failed one has not made', [{ failed: true }, {}], [1], { others: [{ wants: 0 }] }],
	['what is likely, later, while an id is awaited', 1, { afterMs: 60_000 }, { mine: told }],
	['what is likely, later, where it has images', 1, { afterMs: 300_000 }, { mine: images }],
	['nothing, where it has images and awaits an id', 1, 'listed', { mine: { ...images, ...told } }],
	['what an event told, where it has images', 2, [1], { mine: { ...images, ...named('e1') } }],
])('a request gets %s', (_, entries, expected, { mine, others = [], taken = '' } = {}) => {
	const claim = claimed(mine ?? {});
	const all = (Array.isArray(entries) ? entries : new Array<Entry>(entries).fill({})).map(listed);
	const claims = [claim, ...others.map(claimed)];
	const verdict = matchHistory(claim, all, claims, new Set([taken]));
	const isOwn = Array.isArray(expected);
	const waitMs = typeof expected === 'object' && !isOwn ? expected.afterMs : undefined;
	expect(verdict).toEqual({
		own: isOwn ? expected.map((index) => all[index]) : waitMs ? all : [],
		candidates: isOwn ? [] : all.toReversed(),
		hopeless: expected === 'hopeless',
		waitMs,
	});
});
