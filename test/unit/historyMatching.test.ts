import type { HistoryEntry } from '../../nodes/shared/generation/historyEntries';
import { matchHistory, type Claim } from '../../nodes/shared/generation/historyMatching';

/* The match by itself: `mine` beside `others` of its prompt, the entries by number, the oldest first. */

const claimed = (fields: Partial<Claim>): Claim => ({
	...{ key: 'k', prompt: 'P', began: 1000, expected: 1, kind: 'video', digest: 'x' },
	...{ withImages: false, ids: new Set(), lost: true, until: Infinity, wants: 1, got: 0 },
	marks: new Set(),
	...fields,
});
const listed = (fields: Partial<HistoryEntry>, index: number): HistoryEntry => {
	const id = `e${index}`;
	const files = fields.failed ? [] : [{ id, fileUrl: `https://a.example/${id}`, fields: {} }];
	const made = { createdAt: 2000 + index, clockOffsetMs: 0 };
	const own = { record: {}, id, prompt: 'P', ...made, failed: false };
	return { ...own, files, place: -index, marks: [id], ...fields };
};

interface Row {
	mine?: Partial<Claim>;
	others?: Array<Partial<Claim>>;
	entries: Array<Partial<HistoryEntry>>;
	toldToOthers?: string;
	taken?: string;
	own?: number[];
	candidates?: number[];
	hopeless?: boolean;
	waitMs?: number;
}

const two = { expected: 2, wants: 2 };
const named = (id: string) => ({ ids: new Set([id]) });
const [LANDSCAPE, PORTRAIT] = ['VIDEO_ASPECT_RATIO_LANDSCAPE', 'VIDEO_ASPECT_RATIO_PORTRAIT'];
const images = { withImages: true };
/** Beside an equal request on its stream. */
const streaming = { others: [{ lost: false }] };
/** Beside a request for another aspect ratio. */
const shaped = {
	mine: { aspectRatio: LANDSCAPE },
	others: [{ digest: 'y', aspectRatio: PORTRAIT }],
};
const [wide, tall] = [LANDSCAPE, PORTRAIT].map((ratio) => ({ record: { aspect_ratio: ratio } }));

test.each<[title: string, row: Row]>([
	['nothing, while there is nothing', { entries: [] }],
	['the only entry', { entries: [{}], own: [0] }],
	['a part of its entries', { mine: two, entries: [{}], own: [0] }],
	['nothing of too many', { entries: [{}, {}], candidates: [1, 0], hopeless: true }],
	['nothing of another prompt', { entries: [{ prompt: 'Q' }] }],
	['nothing made before it', { entries: [{ createdAt: -5000 }] }],
	['nothing made after its end', { mine: { until: 1500 }, entries: [{}] }],
	['nothing of another kind', { entries: [{ record: { type: 'image' } }] }],
	['nothing that somebody has', { entries: [{}, {}], taken: 'e0', own: [1] }],
	['what an event told', { mine: named('e1'), entries: [{}, {}, {}], own: [1] }],
	['nothing told to two', { mine: named('e0'), entries: [{}], toldToOthers: 'e0' }],
	['nothing told to another', { entries: [{}, {}], toldToOthers: 'e0', own: [1] }],
	['nothing beside a file under another name', { mine: { ...two, got: 1 }, entries: [{}] }],
	['its share of equal requests', { others: [{ began: 500 }], entries: [{}, {}], own: [1] }],
	['nothing of a share that is not even', { others: [{}], entries: [{}], candidates: [0] }],
	[
		'nothing of a share that only one of them can have made',
		{
			others: [{ began: 6000, ...two }],
			entries: [{}, {}, { createdAt: 9000 }],
			candidates: [2, 1, 0],
		},
	],
	[
		'nothing of more than it and an equal one asked for',
		{ others: [{}], entries: [{}, {}, {}], candidates: [2, 1, 0], hopeless: true },
	],
	['nothing while an equal one is on its stream', { ...streaming, entries: [{}], candidates: [0] }],
	[
		'nothing while an equal one is on its stream, even when the number fits',
		{ ...streaming, entries: [{}, {}], candidates: [1, 0] },
	],
	[
		'nothing yet of too many, while an equal one is on its stream',
		{ ...streaming, entries: [{}, {}, {}], candidates: [2, 1, 0] },
	],
	['nothing beside a different one', { others: [{ digest: 'y' }], entries: [{}], candidates: [0] }],
	[
		'nothing once all is there that it and a different one may have made',
		{ others: [{ digest: 'y' }], entries: [{}, {}], candidates: [1, 0], hopeless: true },
	],
	[
		'nothing while a different one is on its stream, which may still tell an id',
		{ others: [{ digest: 'y', lost: false }], entries: [{}, {}], candidates: [1, 0] },
	],
	[
		'nothing while an id of a different one is awaited',
		{ others: [{ digest: 'y', ...named('e9') }], entries: [{}, {}], candidates: [1, 0] },
	],
	[
		'nothing beside a different one while its own id is awaited',
		{ mine: named('e9'), others: [{ digest: 'y' }], entries: [{}, {}], candidates: [1, 0] },
	],
	[
		'what was made before a different one was sent',
		{
			others: [
				{ digest: 'y', began: Infinity },
				{ digest: 'z', began: 9000 },
			],
			entries: [{}],
			own: [0],
		},
	],
	['what has its own aspect ratio', { ...shaped, entries: [{ ...tall }, { ...wide }], own: [1] }],
	['nothing that tells no aspect ratio', { ...shaped, entries: [{}], candidates: [0] }],
	[
		'what a failed one has not made',
		{ others: [{ wants: 0 }], entries: [{ failed: true }, {}], own: [1] },
	],
	[
		'what is likely, while an id that was told is awaited',
		{ mine: named('e9'), entries: [{}], own: [0], candidates: [0], waitMs: 60_000 },
	],
	[
		'what is likely, where images are part of it',
		{ mine: images, entries: [{}], own: [0], candidates: [0], waitMs: 300_000 },
	],
	[
		'nothing by its prompt, where images are part of it and an id is awaited',
		{ mine: { ...images, ...named('e9') }, entries: [{}], candidates: [0] },
	],
	[
		'what an event told, where images are part of it',
		{ mine: { ...images, ...named('e1') }, entries: [{}, {}], own: [1] },
	],
])('a request gets %s', (_, { entries, ...row }) => {
	const mine = claimed(row.mine ?? {});
	const all = entries.map(listed);
	const verdict = matchHistory(mine, {
		all,
		sharing: [mine, ...(row.others ?? []).map(claimed)],
		toldToOthers: new Set([row.toldToOthers ?? '']),
		taken: new Set([row.taken ?? '']),
	});
	const numbers = (found: HistoryEntry[]) => found.map((entry) => all.indexOf(entry));
	const { own = [], candidates = [], hopeless = false, waitMs } = row;
	expect({
		...verdict,
		own: numbers(verdict.own),
		candidates: numbers(verdict.candidates),
	}).toEqual({ own, candidates, hopeless, waitMs });
});
