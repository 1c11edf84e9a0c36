import { bad } from './seen';
import { ALWAYS, answer, onRead, posts } from './service';
import { begin, node, RETRY, sim, speech, start } from './setup';

/* A task that the service suddenly does not know. */

test('a task that is unknown more than ten minutes after its creation is not replaced by Retry On Fail', async () => {
	await start({ pace: 1 });
	const execution = await begin(node(speech('Long [sim:slow=600]'), RETRY));
	await sim.waitFor(() => sim.tasks.size === 1 && sim.countOpenSockets() === 1);
	const now = Date.now.bind(Date);
	const later = jest.spyOn(Date, 'now').mockImplementation(() => now() + 660_000);
	onRead(answer(404, { error: 'Task not found' }), ALWAYS);
	sim.dropSockets();
	const { message } = bad(await execution.finished);
	later.mockRestore();
	expect(message).toContain('has no task with this ID');
	expect(posts()).toBe(1);
});
