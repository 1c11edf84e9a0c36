import { Claims, claimsOf } from '../../nodes/shared/generation/claims';
import { entryState } from '../../nodes/shared/generation/historyEntries';
import type { Claim } from '../../nodes/shared/generation/historyMatching';
import { judge } from './judge';
import type { ServiceRecord } from '../../nodes/shared/contract';
import { readCredential } from '../../nodes/shared/http/credential';

const BEGAN = Date.parse('2026-01-01T10:00:00Z');
const at = (seconds: number) => new Date(BEGAN + seconds * 1000).toISOString();

let count = 0;
const entry = (fields: ServiceRecord = {}): ServiceRecord => {
	const id = `e${++count}`;
	return {
		id,
		prompt: 'a beetle',
		file_url: `https://files.example.com/${id}.mp4`,
		created_at: at(5),
		...fields,
	};
};
const begin = (claims: Claims, { prompt = 'a beetle', began = BEGAN, expected = 1 } = {}) =>
	claims.begin({ prompt, began, expected, kind: 'video' });
type Order = Parameters<Claims['begin']>[0];

/** A generation that is on its stream. */
const running = (claims: Claims, order: Partial<Order> = {}) =>
	claims.begin({ prompt: 'a beetle', began: BEGAN, expected: 1, kind: 'video', ...order });
/** A generation whose stream was lost. */
const lost = (claims: Claims, order: Partial<Order> = {}) =>
	Object.assign(running(claims, order), { lost: true });
const fileOf = (item: ServiceRecord) => ({
	id: item.id as string | undefined,
	fileUrl: String(item.file_url),
	fields: item,
});
const own = (claims: Claims, claim: Claim, entries: ServiceRecord[], offsetMs = 0) =>
	judge(claims, claim, entries, offsetMs).own;

let claims: Claims;
beforeEach(() => {
	claims = new Claims();
	count = 0;
});

describe('an entry of the history is a generation’s own', () => {
	it('when an event told its id, before anything else', () => {
		const claim = lost(claims);
		const mine = entry({ prompt: 'rewritten by the service', created_at: undefined });
		claim.ids.add('e1');
		expect(own(claims, claim, [entry(), mine])).toEqual([mine]);
	});

	it('when the id is a number in one place and a text in the other', () => {
		const claim = lost(claims);
		claim.ids.add('42');
		const mine = entry({ id: 42, prompt: 'other' });
		expect(own(claims, claim, [mine])).toEqual([mine]);
	});

	it('by its prompt when the id that events told is not in the history', () => {
		const claim = lost(claims);
		claim.ids.add('job-7');
		const mine = entry();
		expect(own(claims, claim, [mine])).toEqual([mine]);
	});

	it('when it has exactly the prompt and was made after the request began', () => {
		const claim = lost(claims);
		const mine = entry();
		const others = [
			entry({ prompt: 'a beetle in the rain' }),
			entry({ prompt: 'A Beetle' }),
			entry({ prompt: undefined }),
			entry({ created_at: at(-60) }),
			entry({ created_at: 'yesterday' }),
			entry({ created_at: undefined }),
		];
		expect(own(claims, claim, [...others, mine])).toEqual([mine]);
	});

	it('whatever numeric offset its time is written with', () => {
		const claim = lost(claims);
		const mine = entry({ created_at: '2026-01-01T15:30:05+05:30' });
		const earlier = entry({ created_at: '2026-01-01T10:30:05+05:30' });
		expect(own(claims, claim, [earlier, mine])).toEqual([mine]);
	});

	it('when no prompt was sent, only where the entry has none', () => {
		const claim = lost(claims, { prompt: '' });
		const mine = entry({ prompt: '' });
		expect(own(claims, claim, [entry(), mine])).toEqual([mine]);
	});

	it('for each of several files asked for', () => {
		const claim = lost(claims, { expected: 3 });
		const mine = [
			entry({ created_at: at(1) }),
			entry({ created_at: at(2) }),
			entry({ created_at: at(3) }),
		];
		expect(own(claims, claim, [...mine].reverse())).toEqual(mine);
	});

	it('for those of several files asked for that are there so far', () => {
		const claim = lost(claims, { expected: 3 });
		const mine = entry();
		expect(judge(claims, claim, [mine])).toEqual({
			own: [mine],
			candidates: [],
			hopeless: false,
		});
	});
});

describe('an entry that says more of itself', () => {
	const LANDSCAPE = 'VIDEO_ASPECT_RATIO_LANDSCAPE';
	const PORTRAIT = 'VIDEO_ASPECT_RATIO_PORTRAIT';

	it('is not taken for a video when it is an image, nor the other way round', () => {
		const video = lost(claims);
		const image = lost(claims, { kind: 'image' });
		const picture = entry({ type: 'image', file_url: 'https://files.example.com/a.png' });
		expect(own(claims, video, [picture])).toEqual([]);
		claims.end(video, []);
		expect(own(claims, image, [picture])).toEqual([picture]);
	});

	it('is not taken when it has another aspect ratio than asked for', () => {
		const claim = lost(claims, { aspectRatio: PORTRAIT });
		const mine = entry({ aspect_ratio: PORTRAIT });
		expect(own(claims, claim, [entry({ aspect_ratio: LANDSCAPE }), mine])).toEqual([mine]);
	});

	it('can be an image whose address has no ending', () => {
		const claim = lost(claims, { kind: 'image' });
		const mine = entry({ file_url: 'https://files.example.com/download/17' });
		expect(own(claims, claim, [mine])).toEqual([mine]);
	});

	it('can call its aspect ratio by another name', () => {
		const claim = lost(claims, { aspectRatio: LANDSCAPE });
		const mine = entry({ aspect_ratio: '16:9' });
		expect(own(claims, claim, [mine])).toEqual([mine]);
	});

	it('is told apart from that of another lost generation of the same prompt', () => {
		const wide = lost(claims, { aspectRatio: LANDSCAPE });
		const tall = lost(claims, { aspectRatio: PORTRAIT });
		const [forTall, forWide] = [
			entry({ aspect_ratio: PORTRAIT }),
			entry({ aspect_ratio: LANDSCAPE }),
		];
		expect(own(claims, wide, [forTall, forWide])).toEqual([forWide]);
		expect(own(claims, tall, [forTall, forWide])).toEqual([forTall]);
	});
});

describe('clocks that differ', () => {
	it.each([
		['an hour ahead', 3600],
		['an hour behind', -3600],
	])('are told apart when the service is %s', (_, skew) => {
		const claim = lost(claims);
		const earlier = entry({ created_at: at(skew - 30) });
		const mine = entry({ created_at: at(skew + 5) });
		expect(own(claims, claim, [earlier, mine], skew * 1000)).toEqual([mine]);
	});

	it('may cut their times to the second', () => {
		const claim = lost(claims, { began: BEGAN + 900 });
		const mine = entry({ created_at: '2026-01-01T10:00:00+00:00' });
		expect(own(claims, claim, [mine])).toEqual([mine]);
	});
});

describe('an entry that belongs to somebody else', () => {
	it('is not taken again once a generation of this process got it', () => {
		const first = lost(claims);
		const theirs = entry();
		expect(own(claims, first, [theirs])).toEqual([theirs]);
		claims.end(first, [fileOf(theirs)]);
		const second = lost(claims);
		expect(own(claims, second, [theirs])).toEqual([]);
		const mine = entry({ created_at: at(9) });
		expect(own(claims, second, [theirs, mine])).toEqual([mine]);
	});

	it('stays free when the generation that looked at it ended without it', () => {
		const first = lost(claims);
		const made = entry();
		own(claims, first, [made]);
		claims.end(first, []);
		expect(own(claims, lost(claims), [made])).toEqual([made]);
	});

	it('is a candidate only, while another generation of the same prompt is on its stream', () => {
		const mine = lost(claims);
		begin(claims, { prompt: 'a beetle', began: BEGAN });
		const made = entry();
		expect(judge(claims, mine, [made])).toEqual({ own: [], candidates: [made], hopeless: false });
	});

	it('is no matter where the prompts differ', () => {
		const mine = lost(claims);
		begin(claims, { prompt: 'a spider', began: BEGAN });
		const made = entry();
		expect(own(claims, mine, [made])).toEqual([made]);
	});

	it('is not given away when events told another open generation its id', () => {
		const theirs = lost(claims);
		const mine = lost(claims, { began: BEGAN + 1 });
		const madeForMe = entry({ created_at: at(5) });
		const madeForThem = entry({ created_at: at(6) });
		theirs.ids.add(madeForThem.id as string);
		const entries = [madeForThem, madeForMe];
		expect(own(claims, theirs, entries)).toEqual([madeForThem]);
		expect(own(claims, mine, entries)).toEqual([madeForMe]);
	});

	it('is not taken again where neither of the two has an id, only an address', () => {
		const first = lost(claims);
		const theirs = entry({ id: undefined, file_url: 'https://files.example.com/theirs.mp4' });
		claims.end(first, [fileOf(theirs)]);
		expect(own(claims, lost(claims), [theirs])).toEqual([]);
	});

	it('is not taken when its stream gave the address without the id', () => {
		const first = begin(claims, { prompt: 'a beetle', began: BEGAN });
		const mine = lost(claims);
		const theirs = entry();
		claims.end(first, [{ ...fileOf(theirs), id: undefined }]);
		expect(own(claims, mine, [theirs])).toEqual([]);
	});
});

describe('several lost generations of one prompt', () => {
	it('wait until there are as many entries as they asked for, then each gets its share', () => {
		const first = lost(claims);
		const second = lost(claims, { began: BEGAN + 1000, expected: 2 });
		const made = [entry({ created_at: at(3) }), entry({ created_at: at(4) })];
		for (const claim of [first, second]) {
			expect(judge(claims, claim, made)).toEqual({ own: [], candidates: made, hopeless: false });
		}
		made.push(entry({ created_at: at(5) }));
		expect(own(claims, first, made)).toEqual([made[0]]);
		expect(own(claims, second, made)).toEqual([made[1], made[2]]);
	});

	it('get the same share whoever looks first, and after one of them has ended', () => {
		const first = lost(claims);
		const second = lost(claims, { began: BEGAN + 1000 });
		const made = [entry({ created_at: at(3) }), entry({ created_at: at(4) })];
		expect(own(claims, second, made)).toEqual([made[1]]);
		claims.end(second, [fileOf(made[1]!)]);
		expect(own(claims, first, made)).toEqual([made[0]]);
	});

	it('never both take an entry that either may lack beside the one that its events told', () => {
		const both = [lost(claims, { expected: 2 }), lost(claims, { expected: 2 })];
		const proven = [entry(), entry({ created_at: at(6) })];
		both.forEach((claim, index) => claim.ids.add(String(proven[index]!.id)));
		const made = [...proven, entry({ created_at: at(7) })];
		expect(both.map((claim) => own(claims, claim, made))).toEqual(proven.map((one) => [one]));
		made.push(entry({ created_at: at(8) }));
		const shares = both.map((claim) => own(claims, claim, made));
		expect(shares).toEqual([
			[made[0], made[2]],
			[made[1], made[3]],
		]);
	});

	it('keep what events told of, however early the other one began', () => {
		const early = lost(claims, { began: BEGAN - 1000 });
		const told = lost(claims, { expected: 2 });
		const made = [3, 4, 5].map((second) => entry({ created_at: at(second) }));
		told.ids.add(String(made[0]!.id));
		expect(own(claims, told, made)).toEqual([made[0], made[2]]);
		expect(own(claims, early, made)).toEqual([made[1]]);
	});

	it('stay without when there are more entries than they asked for: nobody can tell', () => {
		const first = lost(claims);
		lost(claims);
		const made = [entry(), entry(), entry()];
		expect(judge(claims, first, made)).toEqual({ own: [], candidates: made, hopeless: true });
	});

	it('get no share while one of them is on its stream, even when the number fits', () => {
		const first = lost(claims);
		begin(claims, { prompt: 'a beetle', began: BEGAN + 1000 });
		const made = [entry({ created_at: at(3) }), entry({ created_at: at(4) })];
		expect(judge(claims, first, made)).toEqual({ own: [], candidates: made, hopeless: false });
	});

	it('may still be told apart later while one of them is on its stream', () => {
		const first = lost(claims);
		begin(claims, { prompt: 'a beetle', began: BEGAN });
		expect(judge(claims, first, [entry(), entry(), entry()]).hopeless).toBe(false);
	});
});

describe('a lost generation alone', () => {
	it('takes nothing when there are more entries than it asked for, and names them', () => {
		const claim = lost(claims);
		const made = [entry(), entry()];
		expect(judge(claims, claim, made)).toEqual({ own: [], candidates: made, hopeless: true });
	});
});

describe('what an entry says of its generation', () => {
	it.each([
		['completed', { status: 'completed', file_url: '/a.mp4' }, { files: 1, failed: false }],
		[
			'another word',
			{ status: 'MEDIA_GENERATION_STATUS_SUCCESSFUL', file_urls: ['/a', '/b'] },
			{ files: 2, failed: false },
		],
		['in the making', { status: 'processing', file_url: null }, { files: 0, failed: false }],
		['failed', { status: 'FAILED' }, { files: 0, failed: true }],
		['canceled', { status: 'cancelled', file_url: '' }, { files: 0, failed: true }],
		[
			'failed in a longer word',
			{ status: 'MEDIA_GENERATION_STATUS_FAILED' },
			{ files: 0, failed: true },
		],
	])('%s', (_, fields, expected) => {
		const state = entryState(fields, 'https://media.example.com');
		expect({ files: state.files.length, failed: state.failed }).toEqual(expected);
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
