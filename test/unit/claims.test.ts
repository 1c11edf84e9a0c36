import { askedOf, Claims } from '../../nodes/shared/generation/claims';
import { readHistory } from '../../nodes/shared/generation/historyEntries';
import {
	CLOCK_TOLERANCE_MS,
	type Claim,
	type SentRequest,
} from '../../nodes/shared/generation/historyMatching';
import type { ServiceRecord } from '../../nodes/shared/contract';
import { judge as judged } from './judge';

/* Whose an entry of the history is, where several requests may have made it. */

const BEGAN = Date.parse('2026-01-01T10:00:00Z');
const at = (seconds: number) => new Date(BEGAN + seconds * 1000).toISOString();

let claims: Claims;
let count = 0;
beforeEach(() => {
	jest.useFakeTimers({ now: BEGAN + 60_000 });
	claims = new Claims();
	count = 0;
});
afterEach(() => void jest.useRealTimers());

const entry = (fields: ServiceRecord = {}): ServiceRecord => {
	const id = `e${++count}`;
	const file_url = `https://files.example.com/${id}.mp4?sign=1`;
	return { id, prompt: 'a beetle', file_url, created_at: at(5), ...fields };
};
/** Entries made so many seconds after the request. */
const made = (...seconds: number[]) => seconds.map((second) => entry({ created_at: at(second) }));
type Order = Parameters<Claims['begin']>[0];
/** A generation that is on its stream. */
const running = (order: Partial<Order> = {}, among = claims) =>
	among.begin({ prompt: 'a beetle', began: BEGAN, expected: 1, kind: 'video', ...order });
/** A generation whose stream was lost. */
const lost = (order: Partial<Order> = {}) => Object.assign(running(order), { lost: true });
const fileOf = ({ id, file_url }: ServiceRecord, changes: ServiceRecord = {}) => ({
	...{ id: id as string | undefined, fileUrl: String(file_url), fields: {} },
	...changes,
});
const UNDER_ANOTHER_NAME = { id: 'job', fileUrl: 'https://cdn.example.com/job' };

const judge = (claim: Claim, ...history: ServiceRecord[]) => judged(claims, claim, history);
const own = (claim: Claim, ...history: ServiceRecord[]) => judge(claim, ...history).own;

describe('an entry of the history is a generation’s own', () => {
	it.each<[string, Partial<Order>, ServiceRecord, ...ServiceRecord[]]>([
		[
			'when an event told its id, before anything else',
			{ told: ['e1'] },
			{ prompt: 'rewritten by the service', created_at: undefined },
			{},
		],
		['when the id that was told is a number here', { told: ['42'] }, { id: 42, prompt: 'other' }],
		['when it has no prompt, and none was sent', { prompt: '' }, { prompt: '' }, {}],
		[
			'when it was made after the request, in another time zone',
			{},
			{ created_at: '2026-01-01T15:30:05+05:30' },
			{ created_at: '2026-01-01T10:30:05+05:30' },
		],
		['when its time is cut to the second', { began: BEGAN + 900 }, { created_at: at(0) }],
		[
			'when it is an image whose address has no ending',
			{ kind: 'image' },
			{ file_url: 'https://files.example.com/download/17' },
		],
		[
			'when it calls its aspect ratio by another name',
			{ aspectRatio: 'VIDEO_ASPECT_RATIO_LANDSCAPE' },
			{ aspect_ratio: '16:9' },
			{ aspect_ratio: '9:16' },
		],
	])('%s', (_, order, fields, ...others) => {
		const mine = entry(fields);
		expect(own(lost(order), ...others.map((other) => entry(other)), mine)).toEqual([mine]);
	});

	it('when it has exactly the prompt and was made after the request began', () => {
		const claim = lost();
		const mine = entry();
		const others = [
			entry({ prompt: 'a beetle in the rain' }),
			entry({ prompt: 'A Beetle' }),
			entry({ prompt: undefined }),
			entry({ created_at: at(-60) }),
			entry({ created_at: 'yesterday' }),
			entry({ created_at: undefined }),
		];
		expect(own(claim, ...others, mine)).toEqual([mine]);
	});
});

describe('an entry that belongs to somebody else', () => {
	it.each<[string, ServiceRecord, ServiceRecord]>([
		['id', {}, {}],
		['address, where neither has an id', { id: undefined }, {}],
		['address, where its stream gave no id', {}, { id: undefined }],
	])('is not taken again: it is known by its %s', (_, fields, told) => {
		const [first, second] = [running(), lost()];
		const theirs = entry(fields);
		claims.end(first, [fileOf(theirs, told)]);
		expect(own(second, theirs)).toEqual([]);
		const mine = entry({ created_at: at(9) });
		expect(own(second, theirs, mine)).toEqual([mine]);
	});

	it('stays free when the generation that looked at it ended without it', () => {
		const first = lost();
		const made = entry();
		own(first, made);
		claims.end(first, []);
		expect(own(lost(), made)).toEqual([made]);
	});

	it('does not matter where the prompts differ', () => {
		const mine = lost();
		running({ prompt: 'a spider' });
		const made = entry();
		expect(own(mine, made)).toEqual([made]);
	});
});

describe('several lost generations of one prompt', () => {
	it('wait until there are as many entries as they asked for, then each gets its share', () => {
		const first = lost();
		const second = lost({ began: BEGAN + 1000, expected: 2 });
		const [one, two, three] = made(3, 4, 5);
		for (const claim of [first, second]) {
			const verdict = { own: [], candidates: [one, two], hopeless: false };
			expect(judge(claim, one!, two!)).toEqual(verdict);
		}
		expect(own(first, one!, two!, three!)).toEqual([one]);
		expect(own(second, one!, two!, three!)).toEqual([two, three]);
	});

	it('get the same share whoever looks first, and after one of them has ended', () => {
		const first = lost();
		const second = lost({ began: BEGAN + 1000 });
		const entries = made(3, 4);
		expect(own(second, ...entries)).toEqual([entries[1]]);
		claims.end(second, [fileOf(entries[1]!)]);
		expect(own(first, ...entries)).toEqual([entries[0]]);
	});

	it('never both take an entry that may belong to either', () => {
		const both = [lost({ expected: 2 }), lost({ expected: 2 })];
		both.forEach((claim, index) => claim.ids.add(`e${index + 1}`));
		const [one, two, three, four] = made(5, 6, 7, 8);
		expect(both.map((claim) => own(claim, one!, two!, three!))).toEqual([[one], [two]]);
		const shares = both.map((claim) => own(claim, one!, two!, three!, four!));
		expect(shares).toEqual([
			[one, three],
			[two, four],
		]);
	});

	it('share the entries of one second in the order of the history, which is newest first', () => {
		const both = [lost(), lost({ began: BEGAN + 1 })];
		const [older, newer] = [entry(), entry()];
		expect(both.map((claim) => own(claim, newer, older))).toEqual([[older], [newer]]);
	});

	it('share with one that has its file under another name', () => {
		const first = running();
		const second = lost({ began: BEGAN + 1 });
		const [one, two] = [entry(), entry()];
		claims.end(first, [fileOf(one, UNDER_ANOTHER_NAME)]);
		expect(own(second, one)).toEqual([]);
		expect(own(second, two, one)).toEqual([two]);
	});
});

it.each<[ServiceRecord, number, boolean]>([
	[{ status: 'completed', file_url: '/a.mp4' }, 1, false],
	[{ status: 'MEDIA_GENERATION_STATUS_SUCCESSFUL', file_urls: ['/a', '/b'] }, 2, false],
	[{ status: 'processing', file_url: null }, 0, false],
	[{ status: 'FAILED' }, 0, true],
	[{ status: 'cancelled', file_url: '' }, 0, true],
	[{ status: 'MEDIA_GENERATION_STATUS_FAILED' }, 0, true],
])(
	'an entry says what came of its generation: %j: %d files, failed: %p',
	(fields, count, failed) => {
		const [state] = readHistory([fields], 'https://media.example.com', 0);
		expect([state!.files.length, state!.failed]).toEqual([count, failed]);
	},
);

describe('a request that is over', () => {
	it.each([
		['id', { fileUrl: 'https://cdn.example.com/job' }],
		['address', { id: 'job' }],
		['address, signed anew', { id: 'job', fileUrl: 'https://files.example.com/e1.mp4?sign=2' }],
	])('has made the entry with its %s, and no other', (_, changes) => {
		const mine = lost();
		const theirs = entry();
		const madeForMe = entry();
		claims.end(running({ digest: 'y' }), [fileOf(theirs, changes)]);
		expect(own(mine, theirs)).toEqual([]);
		expect(own(mine, madeForMe, theirs)).toEqual([madeForMe]);
	});

	it('has not made what a query alone tells from its file', () => {
		const theirs = entry({ file_url: 'https://files.example.com/download?file=1' });
		const madeForMe = entry({ file_url: 'https://files.example.com/download?file=2' });
		const mine = lost();
		claims.end(running({ digest: 'y' }), [fileOf(theirs, { id: 'job' })]);
		expect(own(mine, madeForMe, theirs)).toEqual([madeForMe]);
	});

	it('has made nothing after its end', () => {
		const done = running({ digest: 'y' });
		jest.setSystemTime(BEGAN + 1000);
		claims.end(done, [fileOf(entry(), UNDER_ANOTHER_NAME)]);
		const mine = entry();
		expect(own(lost({ began: BEGAN + 4000 }), mine)).toEqual([mine]);
	});

	it('may still be completed within half an hour of being given up', () => {
		claims.leave(running({ digest: 'y' }));
		const mine = lost();
		expect(own(mine, entry())).toEqual([]);
		claims.end(mine, []);
		const late = lost({ began: BEGAN + 3_600_000 });
		const made = entry({ created_at: at(3605) });
		expect(own(late, made)).toEqual([made]);
	});

	it('that has failed has left the failed entry', () => {
		const mine = lost();
		claims.end(running(), []);
		const failed = entry({ status: 'failed', file_url: '' });
		expect(own(mine, failed)).toEqual([]);
		const made = entry();
		expect(own(mine, made, failed)).toEqual([made]);
	});
});

describe('what an earlier attempt, in another process, asked for', () => {
	/** As kept with the execution. */
	const kept = (order: Partial<Order>) =>
		JSON.parse(JSON.stringify(askedOf(running(order, new Claims())))) as SentRequest;

	it('and has not got yet may still be its own', () => {
		claims.recall(kept({ digest: 'y' }));
		expect(own(lost(), entry())).toEqual([]);
	});

	it('is searched for as one request, however often it is told of', () => {
		const asked = kept({ told: ['e1'] });
		claims.recall(asked);
		const again = lost(asked);
		claims.recall(asked);
		const mine = entry();
		expect(own(again, mine, entry())).toEqual([mine]);
	});
});

test('the history is needed back to a request that is no longer remembered', () => {
	const reach = new Claims().reach({ prompt: 'a beetle', began: BEGAN, clockOffsetMs: 60_000 });
	expect(reach.service).toBe(BEGAN + 60_000 - CLOCK_TOLERANCE_MS);
});
