import { event, status } from '../faults/row.mts';
import { bad, out, stored } from './seen';
import { ALWAYS, answer, made, onCreate, onFile } from './service';
import { CONTINUE, EACH, fakeTime, image, node, sim, start, texts, video } from './setup';
import { hasten, pass } from './time';

/* Streams that announce no ids, beside a history that has ids, and signs each URL anew in its query. */

const complete = (kind: string, data: object) => event(`${kind}_generation_complete`, data);
const url = (file: string, signature: number) => `${sim.fileOrigin}/media/${file}?sig=${signature}`;
const entry = (n: number, ending: string, type: 'image' | 'video') => {
	const created_at = new Date(Date.now() + 500).toISOString();
	return made(`e${n}`, { prompt: 'P', type, file_url: url(`${n}.${ending}`, 2), created_at });
};
const listAfter = (seconds: number, ...entries: Array<ReturnType<typeof entry>>) =>
	setTimeout(() => sim.history.unshift(...entries), seconds * 1000);

beforeEach(async () => {
	await start({ pace: 1 });
	fakeTime();
});

test('the row whose stream was lost gets its own image, not that of an equal row', async () => {
	for (let n = 1; n <= 3; n++)
		onCreate({ sse: [complete('image', { url: url(`${n}.png`, 1) }), 'END'] } as never, {
			times: 1,
		});
	onCreate({ sse: [status('processing'), { delayMs: 3000 }, 'RESET'] } as never, { times: 1 });
	sim.history.unshift(entry(1, 'png', 'image'));
	listAfter(8, entry(2, 'png', 'image'), entry(3, 'png', 'image'));
	listAfter(30, entry(4, 'png', 'image'));
	const rows = image(EACH, { concurrency: 4, timeout: 900 }, { download: false });
	const { result } = await hasten(rows, texts('P', 'P', 'P', 'P'));
	const made = out(result).map(({ json }) => String(json.file_url).replace(/.*\/|\?.*/g, ''));
	expect(made.sort()).toEqual(['1.png', '2.png', '3.png', '4.png']);
});

test('a file of an equal row that the history lists under another address is given to no other row', async () => {
	const own = complete('image', { url: `${sim.fileOrigin}/temporary/1` });
	onCreate({ sse: [own, 'END'] } as never, { times: 1 });
	onCreate({ sse: [status('processing'), { delayMs: 3000 }, 'RESET'] } as never, { times: 1 });
	sim.history.unshift(entry(1, 'png', 'image'));
	listAfter(60, entry(2, 'png', 'image'));
	const rows = image(EACH, { timeout: 900 }, { download: false });
	const { result } = await hasten(node(rows, CONTINUE), texts('P', 'P'));
	const [first, second] = [0, 1].map((row) => {
		return out(result).find(({ pairedItem }) => (pairedItem as { item: number }).item === row)!;
	});
	const [made, lost] = first!.json.error ? [second!, first!] : [first!, second!];
	expect(made.json.file_url).toMatch(/temporary.1$/);
	expect(lost.json.description).toMatch(/may be the result: .*e[12].*e[12]/);
});

test('nor does such a file of an earlier execution hide what comes later', async () => {
	const own = complete('image', { url: `${sim.fileOrigin}/temporary/1` });
	onCreate({ sse: [own, 'END'] } as never, { times: 1 });
	await hasten(image('P', {}, { download: false }));
	await pass(60, 10);
	onCreate({ sse: [status('processing'), { delayMs: 3000 }, 'RESET'] } as never, { times: 1 });
	const later = image('P', { timeout: 900 }, { download: false });
	listAfter(10, entry(2, 'png', 'image'));
	const { result, seconds } = await hasten(later);
	expect(out(result).map(({ json }) => json.id)).toEqual(['e2']);
	expect(seconds).toBeLessThan(60);
});

test('the second of two videos comes out, not the first one twice', async () => {
	const first = complete('video', [{ file_url: url('1.mp4', 1) }]);
	onCreate({ sse: [first, { delayMs: 3000 }, 'RESET'] } as never, { times: 1 });
	sim.history.unshift(entry(1, 'mp4', 'video'));
	listAfter(30, entry(2, 'mp4', 'video'));
	const two = video('P', { timeout: 900 }, { download: false, numberOfVideos: 2 });
	const { result } = await hasten(two);
	const made = out(result).map(({ json }) => String(json.file_url).replace(/.*\/|\?.*/g, ''));
	expect(made.sort()).toEqual(['1.mp4', '2.mp4']);
});

test.each<[string, { id?: string }, (n: number) => string, string[]]>([
	['without ids', {}, (n) => `e${n}`, ['1.mp4', '2.mp4']],
	['of one id', { id: 'job' }, () => 'job', ['1.mp4', '2.mp4']],
	['of one id and path', { id: 'job' }, () => 'job', ['get?f=1', 'get?f=2']],
])(
	'the next morning, no video %s comes out in place of one that the history lacks',
	async (_, reported, idOf, files) => {
		const signed = (file: string, signature: number) =>
			url(file, signature).replace(/\?(.*)\?/, '?$1&');
		const data = files.map((file) => ({ ...reported, file_url: signed(file, 1) }));
		onCreate({ sse: [complete('video', data), 'END'] } as never, { times: 1 });
		onFile(answer(410), ALWAYS);
		const two = video('P', { timeout: 900 }, { numberOfVideos: 2 });
		const { result: failed } = await hasten(two);
		bad(failed);
		sim.clearFaults();
		await pass(60, 10);
		sim.history.unshift(made(idOf(2), { prompt: 'P', file_url: signed(files[1]!, 2) }));
		onFile(answer(403), { ...ALWAYS, path: /sig=1/ });
		onFile(answer(200, '\0\0\0\x18ftypisom'), { ...ALWAYS, path: /sig=2/ });
		const { result } = await hasten(node(two, CONTINUE), { retryOf: stored(failed) });
		const again = out(result).map(({ json }) => json.file_url);
		const surelySecond = files[1] === '2.mp4' ? 2 : 1;
		expect(again).toEqual([signed(files[0]!, 1), signed(files[1]!, surelySecond)]);
		expect(out(result)[0]!.json.error).toContain('the file host responded with 403');
	},
);
