import type { RawStreamStep } from '../../simulator/simulator.mts';
import { bad, only } from './seen';
import { looks } from './service';
import { run, sim, video } from './setup';
import { completion, event, raw, serveFiles, status } from './videos';

/* What test/unit/generationEvents.test.ts can't show: when a stream counts as over. */

const END = completion([{ id: 'new', file_url: '/files/a.mp4' }]);
test.each<[string, RawStreamStep[]]>([
	['is left open after it', [END]],
	['is reset after it', [END, { delayMs: 50 }, 'RESET']],
	['tells of an error after it', [END, event('error', 'late'), 'END']],
	['tells other things before it', [': hello\n\nid: 7\n\n', event('ping', ''), status(42), END]],
])('the result comes out although the stream %s', async (_, sse) => {
	raw(sse);
	serveFiles();
	const { json, binary } = only(await run(video('P', { timeout: 4 })));
	expect(json).toEqual({ id: 'new', file_url: `${sim.baseUrl}/files/a.mp4` });
	expect(binary!.data!.fileName).toBe('video-new.mp4');
	expect([looks(), sim.leaks.length]).toEqual([0, 0]);
});

test.each(['{}', '', 'null', '[]', '{"code":500}', '"<b>boom</b>"'])(
	'an error event with the data %j is a failure, in plain words',
	async (data) => {
		raw([`event: error\ndata: ${data}\n\n`, 'END']);
		const { message } = bad(await run(video('P', { timeout: 3 })));
		expect(message).toMatch(/could not generate this/);
		expect(message).not.toMatch(/[<>{}]|undefined|null/);
		expect(looks()).toBe(0);
	},
);

test('a plain { error } with status 200 is a failure', async () => {
	const { message } = bad(await run(video('A [sim:unsafe] [sim:plain-json]')));
	expect(message).toMatch(/rejected as unsafe \(UNSAFE_GENERATION\)/);
	expect(looks()).toBe(0);
});
