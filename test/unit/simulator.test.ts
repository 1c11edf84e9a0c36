import { startSimulator } from '../../simulator/simulator.mts';
import { order } from '../service/order.mts';

/* What the other tests rely on without seeing it: a token that goes astray is noticed. */

test('a token that reaches the file origin is recorded', async () => {
	const simulator = await startSimulator({ pace: 0.02, dialect: { redirectFiles: true } });
	await order(simulator, 'video/create-image', { prompt: 'A tree' });
	const url = simulator.history[0]!.file_url;
	await fetch(url);
	expect(simulator.leaks).toEqual([]);
	const file = simulator.fileOrigin + new URL(url).pathname;
	const sendWith = (token: string) =>
		fetch(file, { headers: { Authorization: `Bearer ${token}` } });
	expect([(await sendWith('another-services-token')).status, simulator.leaks]).toEqual([400, []]);
	expect([(await sendWith('demo-token')).status, simulator.leaks.length]).toEqual([400, 1]);
	await simulator.close();
});
