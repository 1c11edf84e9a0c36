import { growth, MIB } from './growth';
import { good, node, run, sim, start } from './setup';

test('a big file is streamed into filesystem storage in bounded memory', async () => {
	await start({ pace: 0.01 });
	const parameters = { resource: 'video', operation: 'textToVideo', prompt: 'Small', options: {} };
	good(await run(parameters, { binaryMode: 'filesystem' }));
	const subject = node({ ...parameters, prompt: 'Big [sim:big-file=200]' });
	const { result, grown } = await growth(
		async () => await run(subject, { binaryMode: 'filesystem' }),
	);
	const [item] = good(result);
	const file = item!.binary!.data!;
	expect(file.bytes).toBe(200 * MIB);
	expect(file.mimeType).toBe('video/mp4');
	// Pieces that are done with are collected only after some 64 MiB of them, on a busy machine later.
	expect(grown).toBeLessThan(140 * MIB);
	const bytes = await result.bytes(file);
	expect(bytes.equals(sim.fileBytes(sim.history[0]!.file_url)!)).toBe(true);
	expect(sim.leaks).toEqual([]);
}, 180_000);

test('a big file that breaks off is fetched anew, whole', async () => {
	await start({ pace: 0.01 });
	const prompt = 'Big [sim:big-file=8]';
	const subject = node({ resource: 'video', operation: 'textToVideo', prompt, options: {} });
	sim.fault({ on: 'file', action: { truncate: 3 * MIB } });
	const result = await run(subject, { binaryMode: 'filesystem' });
	const [item] = good(result);
	const bytes = await result.bytes(item!.binary!.data!);
	expect(bytes.equals(sim.fileBytes(sim.history[0]!.file_url)!)).toBe(true);
	expect(sim.creates).toBe(1);
}, 180_000);
