import { sim, start } from './setup';
import { activate, createTask, message } from './triggerSetup';

describe('a task that completes', () => {
	it('starts one execution, with the address of its audio', async () => {
		await start();
		const trigger = await activate();
		const taskId = await createTask('Once upon a time');
		const [only] = await trigger.has(1);
		expect(only!.item.json).toEqual({
			event: 'completed',
			task_id: taskId,
			process_percentage: 100,
			status: 'completed',
			audio_url: sim.tasks.get(taskId)!.audioUrl,
		});
		expect(sim.tasks.get(taskId)!.reads).toBe(1);
	});
});
