import { ALWAYS, answer, message, onRead } from './service';
import { fakeTime, sim, start } from './setup';
import { pass, passUntil } from './time';
import { activate, activateListening } from './triggerSetup';

/* Many tasks, or many published workflows of one account, in one process. */

it('a workflow is published while the WebSocket, which was away, has not been tried again', async () => {
	await start({ pace: 0 });
	fakeTime();
	await activateListening();
	sim.setWebSocketMode('refuse');
	sim.dropSockets();
	await pass(90);
	sim.setWebSocketMode('normal');
	const [trigger] = await Promise.all([activate({ activationMode: 'activate' }), pass(5)]);
	expect(sim.sockets()).toBe(1);
	onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
	sim.push(message('1', 100));
	await passUntil(() => trigger.started.length === 1);
});
