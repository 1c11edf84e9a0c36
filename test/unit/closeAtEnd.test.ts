import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { closeAtEnd } from '../../nodes/shared/http/bodies';

/** A stream of which one part was read, and whether it was closed before its end. */
async function begun() {
	const stream = new Readable({ read() {} });
	stream.push('one');
	for await (const _ of stream.iterator({ destroyOnReturn: false })) break;
	const stopping = new AbortController();
	const cut: boolean[] = [];
	const over = closeAtEnd(stream as never, () => cut.push(!stream.readableEnded), stopping.signal);
	return { stream, stopping, cut, over };
}

describe('closeAtEnd', () => {
	test('lets the service end the stream, whatever else it says', async () => {
		const { stream, cut, over } = await begun();
		expect(cut).toEqual([]);
		stream.push('two');
		stream.push(null);
		await over;
		expect(cut).toEqual([false]);
	});

	test('cuts a stream that does not end', async () => {
		const { cut, over } = await begun();
		await over;
		expect(cut).toEqual([true]);
	});

	test('leaves nothing behind on the signal of the run', async () => {
		const { stopping, over } = await begun();
		await over;
		expect(getEventListeners(stopping.signal, 'abort')).toEqual([]);
	});

	test('cuts a stream when the run ends', async () => {
		const { stream, stopping, cut, over } = await begun();
		stopping.abort();
		await over;
		stream.push(null);
		expect(cut).toEqual([true]);
	});
});
