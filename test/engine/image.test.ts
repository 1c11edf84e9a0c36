import { expectServed, only } from './seen';
import { requests } from './service';
import { image, run, sim } from './setup';

test('gives the file with its bytes, type, name and address, for one POST', async () => {
	const result = await run(image('A lighthouse – „blau“'), { binaryMode: 'filesystem' });
	const { json, binary, pairedItem } = only(result);
	const { id, file_url } = sim.history[0]!;
	expect(json).toMatchObject({ id, type: 'image', file_url });
	expect(pairedItem).toEqual({ item: 0 });
	expect(binary!.data).toMatchObject({ fileName: `image-${id}.png`, mimeType: 'image/png' });
	await expectServed(result);
	expect(requests('POST', '/').map(({ path, body }) => [path, body])).toEqual([
		['/v1/video/create-image', { prompt: 'A lighthouse – „blau“' }],
	]);
	expect(sim.leaks).toEqual([]);
});
