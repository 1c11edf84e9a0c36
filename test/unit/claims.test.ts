import { askedOf, Claims, claimsOf } from '../../nodes/shared/generation/claims';
import { entryState } from '../../nodes/shared/generation/historyEntries';
import {
	CLOCK_TOLERANCE_MS,
	type Claim,
	type SentRequest,
} from '../../nodes/shared/generation/historyMatching';
import type { ServiceRecord } from '../../nodes/shared/contract';
import { readCredential } from '../../nodes/shared/http/credential';
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
	it('when an event told its id, before anything else', () => {
		const claim = lost();
		const mine = entry({ prompt: 'rewritten by the service', created_at: undefined });
		claim.ids.add('e1');
		expect(own(claim, entry(), mine)).toEqual([mine]);
	});

	it('when the id is a number in one place and a text in the other', () => {
		const claim = lost();
		claim.ids.add('42');
		const mine = entry({ id: 42, prompt: 'other' });
		expect(own(claim, mine)).toEqual([mine]);
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

	it('whatever numeric offset its time is written with', () => {
		const claim = lost();
		const mine = entry({ created_at: '2026-01-01T15:30:05+05:30' });
		const earlier = entry({ created_at: '2026-01-01T10:30:05+05:30' });
		expect(own(claim, earlier, mine)).toEqual([mine]);
	});

	it('when no prompt was sent, only where the entry has none', () => {
		const claim = lost({ prompt: '' });
		const mine = entry({ prompt: '' });
		expect(own(claim, entry(), mine)).toEqual([mine]);
	});

	it('for each of several files asked for', () => {
		const mine = made(1, 2, 3);
		expect(own(lost({ expected: 3 }), ...mine.toReversed())).toEqual(mine);
	});
});

describe('an entry that says more of itself', () => {
	const LANDSCAPE = 'VIDEO_ASPECT_RATIO_LANDSCAPE';
	const PORTRAIT = 'VIDEO_ASPECT_RATIO_PORTRAIT';

	it('is not taken for a video when it is an image, nor the other way round', () => {
		const video = lost();
		const image = lost({ kind: 'image' });
		const picture = entry({ type: 'image', file_url: 'https://files.example.com/a.png' });
		expect(own(video, picture)).toEqual([]);
		claims.end(video, []);
		expect(own(image, picture)).toEqual([picture]);
	});

	it('can be an image whose address has no ending', () => {
		const claim = lost({ kind: 'image' });
		const mine = entry({ file_url: 'https://files.example.com/download/17' });
		expect(own(claim, mine)).toEqual([mine]);
	});

	it('can call its aspect ratio by another name', () => {
		const claim = lost({ aspectRatio: LANDSCAPE });
		const mine = entry({ aspect_ratio: '16:9' });
		const other = entry({ aspect_ratio: '9:16' });
		expect(own(claim, other, mine)).toEqual([mine]);
	});

	it('is told apart from that of another lost generation of the same prompt', () => {
		const wide = lost({ aspectRatio: LANDSCAPE });
		const tall = lost({ aspectRatio: PORTRAIT });
		const forTall = entry({ aspect_ratio: PORTRAIT });
		const forWide = entry({ aspect_ratio: LANDSCAPE });
		expect(own(wide, forTall, forWide)).toEqual([forWide]);
		expect(own(tall, forTall, forWide)).toEqual([forTall]);
	});
});

describe('clocks that differ', () => {
	it.each([
		['an hour ahead', 3600],
		['an hour behind', -3600],
	])('are told apart when the service is %s', (_, skew) => {
		const claim = lost();
		const earlier = entry({ created_at: at(skew - 30) });
		const mine = entry({ created_at: at(skew + 5) });
		expect(judged(claims, claim, [earlier, mine], skew * 1000).own).toEqual([mine]);
	});

	it('are told apart by what they were when the request went out', () => {
		const claim = lost({ clockOffsetMs: 0 });
		const earlier = entry({ created_at: at(-30) });
		const mine = entry({ created_at: at(5) });
		for (const offsetMs of [-180_000, 180_000]) {
			expect(judged(claims, claim, [mine, earlier], offsetMs).own).toEqual([mine]);
		}
	});

	it('may cut their times to the second', () => {
		const claim = lost({ began: BEGAN + 900 });
		const mine = entry({ created_at: '2026-01-01T10:00:00+00:00' });
		expect(own(claim, mine)).toEqual([mine]);
	});
});

describe('an entry that belongs to somebody else', () => {
	it('is not taken again once a generation of this process got it', () => {
		const first = lost();
		const theirs = entry();
		expect(own(first, theirs)).toEqual([theirs]);
		claims.end(first, [fileOf(theirs)]);
		const second = lost();
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

	it('is no matter where the prompts differ', () => {
		const mine = lost();
		running({ prompt: 'a spider' });
		const made = entry();
		expect(own(mine, made)).toEqual([made]);
	});

	it('is not given away when events told another open generation its id', () => {
		const theirs = lost();
		const mine = lost({ began: BEGAN + 1 });
		const [madeForMe, madeForThem] = [entry(), entry()];
		theirs.ids.add('e2');
		expect(own(theirs, madeForThem, madeForMe)).toEqual([madeForThem]);
		expect(own(mine, madeForThem, madeForMe)).toEqual([madeForMe]);
	});

	it('is not taken again where neither of the two has an id, only an address', () => {
		const first = lost();
		const theirs = entry({ id: undefined, file_url: 'https://files.example.com/theirs.mp4' });
		claims.end(first, [fileOf(theirs)]);
		expect(own(lost(), theirs)).toEqual([]);
	});

	it('is not taken when its stream gave the address without the id', () => {
		const first = running();
		const mine = lost();
		const theirs = entry();
		claims.end(first, [{ ...fileOf(theirs), id: undefined }]);
		expect(own(mine, theirs)).toEqual([]);
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

	it('never both take an entry that either may lack beside the one that its events told', () => {
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

	it('keep what events told of, however early the other one began', () => {
		const early = lost({ began: BEGAN - 1000 });
		const told = lost({ expected: 2 });
		told.ids.add('e1');
		const entries = made(3, 4, 5);
		expect(own(told, ...entries)).toEqual([entries[0], entries[2]]);
		expect(own(early, ...entries)).toEqual([entries[1]]);
	});

	it('get what their streams told of; then what is left is the other one’s', () => {
		const [told, untold] = [lost(), lost({ digest: 'y' })];
		told.ids.add('e2');
		const [one, two] = [entry(), entry()];
		expect(own(told, two, one)).toEqual([two]);
		expect(own(untold, two, one)).toEqual([one]);
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

describe('what an entry says of its generation', () => {
	it.each<[string, ServiceRecord, number, boolean]>([
		['completed', { status: 'completed', file_url: '/a.mp4' }, 1, false],
		[
			'another word',
			{ status: 'MEDIA_GENERATION_STATUS_SUCCESSFUL', file_urls: ['/a', '/b'] },
			2,
			false,
		],
		['in the making', { status: 'processing', file_url: null }, 0, false],
		['failed', { status: 'FAILED' }, 0, true],
		['canceled', { status: 'cancelled', file_url: '' }, 0, true],
		['failed in a longer word', { status: 'MEDIA_GENERATION_STATUS_FAILED' }, 0, true],
	])('%s', (_, fields, count, failed) => {
		const state = entryState(fields, 'https://media.example.com');
		expect([state.files.length, state.failed]).toEqual([count, failed]);
	});
});

describe('accounts', () => {
	const account = (apiToken: string, baseUrl = 'https://media.example.com') =>
		claimsOf(readCredential({ apiToken, baseUrl }));

	it('share what is taken only with themselves', () => {
		expect(account('token-a')).toBe(account('token-a'));
		expect(account('token-a')).not.toBe(account('token-b'));
		expect(account('token-a')).not.toBe(account('token-a', 'https://other.example.com'));
	});
});
describe('a request that is over', () => {
	it('may have made the entry under another id and at another address', () => {
		const mine = lost();
		const theirs = entry();
		claims.end(running({ digest: 'y' }), [fileOf(theirs, UNDER_ANOTHER_NAME)]);
		expect(judge(mine, theirs)).toMatchObject({ own: [], candidates: [theirs] });
	});

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

	it('may still come to be for half an hour when it was given up', () => {
		claims.leave(running({ digest: 'y' }));
		const mine = lost();
		expect(own(mine, entry())).toEqual([]);
		claims.end(mine, []);
		const late = lost({ began: BEGAN + 3_600_000 });
		const made = entry({ created_at: at(3605) });
		expect(own(late, made)).toEqual([made]);
	});

	it('and has failed has left the failed entry', () => {
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

	it('and got belongs to it', () => {
		const theirs = entry();
		claims.recall(kept({}), [fileOf(theirs)], BEGAN + 9000);
		expect(own(lost(), theirs)).toEqual([]);
	});

	it('and has not got yet is waited for as for its own requests', () => {
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
