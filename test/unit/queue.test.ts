import { Semaphore } from '../../nodes/shared/async/queue';

test('more bytes than the limit come alone into memory, and are not overtaken', async () => {
	const memory = new Semaphore(100);
	const order: string[] = [];
	const enter = async (name: string, bytes: number) => {
		const leave = await memory.acquire(bytes, new AbortController().signal);
		order.push(name);
		setImmediate(() => {
			order.push(`${name} leaves`);
			leave();
		});
	};
	await Promise.all([enter('small', 10), enter('large', 500), enter('later', 10)]);
	expect(order).toEqual(['small', 'small leaves', 'large', 'large leaves', 'later']);
});
