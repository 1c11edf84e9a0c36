import { good } from './seen';
import { answer, message, onFile, tasks } from './service';
import { begin, sim, speech, start } from './setup';
import { activate, activateListening, areMade, createTask, isMade, onAll } from './triggerSetup';

describe('a task that completes', () => {
	it('starts one execution, with the address of its audio, after one reading', async () => {
		const trigger = await activate();
		const taskId = await createTask('Once upon a time');
		const [only] = await trigger.has(1);
		expect(only!.item).toEqual({
			json: {
				event: 'completed',
				task_id: taskId,
				process_percentage: 100,
				status: 'completed',
				audio_url: sim.tasks.get(taskId)!.audioUrl,
			},
		});
		expect(sim.tasks.get(taskId)!.reads).toBe(1);
	});

	it('brings its audio along where asked to', async () => {
		const options = { download: true, outputField: 'audio' };
		const trigger = await activate({ parameters: { options } });
		const taskId = await createTask('A file');
		const [only] = await trigger.has(1);
		const { audio } = only!.item.binary!;
		expect(audio).toMatchObject({ fileName: `speech-${taskId}.wav`, mimeType: 'audio/wav' });
		const served = sim.fileBytes(String(only!.item.json.audio_url))!;
		expect(served.equals(Buffer.from(audio!.data, 'base64'))).toBe(true);
		expect(sim.leaks).toEqual([]);
	});

	it('is told also when its audio cannot be fetched, and why', async () => {
		onFile(answer(410), { times: 9 });
		const trigger = await activate({ parameters: { options: { download: true } } });
		const taskId = await createTask('No file');
		const [only] = await trigger.has(1);
		expect(only!.item.json).toMatchObject({ event: 'completed', task_id: taskId });
		expect(only!.item.json.audio_url).toBe(sim.tasks.get(taskId)!.audioUrl);
		expect(only!.item.json.error).toMatch(/could not be downloaded.*410/);
		expect(only!.item.binary).toBeUndefined();
	});
});

describe('progress', () => {
	it.each<[number | undefined, number[]]>([
		[undefined, [21, 43, 57, 71, 93]],
		[1, [21, 43, 57, 71, 93, 100]],
		[30, [43, 93]],
		[100, [100]],
	])('is told in steps of %p points, by default 10', async (progressStep, percentages) => {
		const trigger = await activateListening({
			parameters: { ...onAll, options: { progressStep } },
		});
		for (const percentage of [21, 43, 40, 57, 71, 93, 100]) {
			sim.push(message('7', percentage));
			if (percentages.includes(percentage)) await trigger.until(`progress 7 ${percentage}`);
		}
		expect(trigger.events()).toEqual(percentages.map((percentage) => `progress 7 ${percentage}`));
		expect(new Set(trigger.started.map(({ key }) => key)).size).toBe(percentages.length);
		expect(trigger.started[0]!.item.json).toEqual({
			event: 'progress',
			task_id: '7',
			process_percentage: percentages[0],
		});
	});

	it('starts an execution of a task when the one before has ended, with the latest percentage', async () => {
		const trigger = await activate({ parameters: onAll, executionsLast: true });
		const taskId = await createTask('In order');
		const other = await createTask('Beside');
		await sim.waitFor(() => tasks().every(({ reads }) => reads > 0));
		const bothAt = (percentage: number) =>
			[taskId, other].map((id) => `progress ${id} ${percentage}`).sort();
		expect(trigger.events().sort()).toEqual(bothAt(21));
		trigger.started.forEach(({ done }) => done());
		await trigger.has(4);
		expect(trigger.events().slice(2).sort()).toEqual(bothAt(93));
	});
});

it('a burst starts every execution, twenty at a time', async () => {
	const trigger = await activate({ executionsLast: true });
	await Promise.all(Array.from({ length: 50 }, (_, n) => createTask(`Number ${n}`)));
	await sim.waitFor(() => tasks().every(({ reads }) => reads > 0));
	await trigger.has(20);
	expect(trigger.started.length).toBe(20);
	let ended = 0;
	while (ended < 50) {
		const { length } = trigger.started;
		expect(length - ended).toBeLessThanOrEqual(20);
		trigger.started.slice(ended, length).forEach(({ done }) => done());
		ended = length;
		if (ended < 50) await trigger.has(ended + 1);
	}
	expect(new Set(trigger.events()).size).toBe(50);
});

describe('tasks by their IDs', () => {
	it('are the only ones that are told of', async () => {
		await start({ pace: 0.1 });
		const mine = await createTask('Mine');
		const trigger = await activate({ parameters: { taskIds: ` ${mine} ,99999, ` } });
		const other = await createTask('[sim:slow=1] Not mine');
		await trigger.has(1);
		await sim.waitFor(() => sim.tasks.get(other)!.status === 'completed');
		expect(trigger.events()).toEqual([`completed ${mine} 100`]);
		expect(sim.tasks.get(other)!.reads).toBe(0);
	});

	it('are told of also when they completed before, but only once', async () => {
		const taskId = await createTask('Over long ago');
		await sim.waitFor(() => isMade(taskId));
		const setting = { parameters: { taskIds: taskId }, nodeId: 'named' };
		const trigger = await activate(setting);
		await trigger.has(1);
		await trigger.close();
		const again = await activate(setting);
		await createTask('Another');
		await sim.waitFor(areMade);
		expect(again.started).toEqual([]);
	});
});

it('trigger and waiting items share one socket', async () => {
	await start({ pace: 0.2 });
	const trigger = await activate();
	const running = await begin(speech('Together'));
	await sim.waitFor(() => sim.tasks.size === 1);
	expect(sim.sockets()).toBe(1);
	const result = await running.finished;
	expect(good(result)[0]?.json.status).toBe('completed');
	await trigger.has(1);
	expect([sim.socketsEver, sim.sockets()]).toEqual([1, 1]);
	await trigger.close();
	await sim.waitFor(() => sim.sockets() === 0, 1000);
});
