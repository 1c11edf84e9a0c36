/* The trigger under n8n's policy for outgoing requests. */

// n8n reads it once, when it is loaded.
process.env.N8N_SSRF_PROTECTION_ENABLED = 'true';
process.env.N8N_SSRF_ALLOWED_IP_RANGES = '127.0.0.1/32';

const setup = require('./setup') as typeof import('./setup');
const { activate, areMade, createTask } =
	require('./triggerSetup') as typeof import('./triggerSetup');

const FORBIDDEN = { webSocketUrl: 'ws://127.0.0.2:9' };

test('who publishes is told that the WebSocket can’t be opened, if n8n forbids it', async () => {
	await expect(activate({ credential: FORBIDDEN })).rejects.toThrow(
		"The WebSocket can't be opened",
	);
});

test('listed tasks are polled although n8n forbids the WebSocket', async () => {
	await setup.start({ pace: 0.1 });
	const taskIds = await createTask('Hello.');
	await setup.sim.waitFor(areMade);
	const trigger = await activate({ credential: FORBIDDEN, parameters: { taskIds } });
	const [{ item }] = (await trigger.has(1)) as [(typeof trigger.started)[0]];
	expect(item.json).toMatchObject({ task_id: taskIds, event: 'completed' });
});
