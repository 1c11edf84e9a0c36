import { logged, removeLog } from '../faults/log.mts';
import { EVENTS } from '../../nodes/shared/n8n/triggerEvents';
import { contentsOf, findToken } from '../faults/canary.mts';
import { order } from '../service/order.mts';
import { good } from './seen';
import { ALWAYS, answer, message, onFile, onRead, tasks } from './service';
import { begin, fakeTime, sim, speech, start } from './setup';
import { pass, passUntil } from './time';
import { activate, activateListening, areMade, createTask, isMade, onAll } from './triggerSetup';

afterAll(removeLog);

it.each(EVENTS)(
	'$value starts executions if it is chosen, alone or not, and with a file if it says so',
	async ({ value, hasFile }) => {
		fakeTime();
		const others = EVENTS.map((event) => event.value).filter((event) => event !== value);
		const listen = async (events: string[]) =>
			await activate({ parameters: { events, download: true } });
		const triggers = Promise.all([listen([value]), listen(others)]);
		await pass(3);
		const [alone, without] = await triggers;
		const video = order(sim, 'video/text-to-video', { prompt: 'A video' });
		await createTask('A text');
		await createTask('[sim:task-fails-late] Another text');
		await pass(130, 5);
		await video;
		const items = alone.started.map(({ item }) => item);
		expect(new Set(items.map(({ json }) => json.event))).toEqual(new Set([value]));
		expect(items.map(({ binary }) => binary !== undefined)).toContain(hasFile);
		expect(without.started.length).toBeGreaterThan(0);
		expect(without.started.map(({ item }) => item.json.event)).not.toContain(value);
	},
);

it.each(EVENTS)('$value is not repeated when the trigger is activated again', async ({ value }) => {
	fakeTime();
	const setting = { parameters: { events: [value] }, nodeId: `again ${value}` };
	const activateAndPass = async () => (await Promise.all([activate(setting), pass(3)]))[0];
	let trigger = await activateAndPass();
	const triggers = [trigger];
	const video = order(sim, 'video/text-to-video', { prompt: '[sim:slow=20] A video' });
	await createTask('[sim:slow=40] A text');
	await createTask('[sim:slow=40][sim:task-fails-late] Another text');
	for (let round = 0; round < 5; round++) {
		await pass(12);
		await trigger.close();
		triggers.push((trigger = await activateAndPass()));
	}
	await pass(60, 5);
	await video;
	const keys = triggers.flatMap(({ started }) => started.map(({ key }) => key));
	expect(keys.length).toBeGreaterThan(0);
	expect(new Set(keys).size).toBe(keys.length);
});

describe('a task that completes', () => {
	it('starts one execution, with the URL of its audio, after one reading', async () => {
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
		expect(sim.tasks.get(taskId)!.readCount).toBe(1);
	});

	it('brings its audio along, for the node that stores it', async () => {
		const trigger = await activate({
			parameters: { download: true, options: { outputField: 'audio' } },
		});
		const taskId = await createTask('A file');
		const [only] = await trigger.has(1);
		const { audio } = only!.item.binary!;
		expect(audio).toMatchObject({ fileName: `speech-${taskId}.wav`, mimeType: 'audio/wav' });
		const served = sim.fileBytes(String(only!.item.json.audio_url))!;
		expect(served.equals(Buffer.from(audio!.data, 'base64'))).toBe(true);
		expect(sim.leaks).toEqual([]);
	});

	it('brings audio that the service sends in its answer along, in place of the text', async () => {
		const trigger = await activateListening();
		const result = `data:audio/mpeg;base64,${Buffer.from('ID3\x04\0\0').toString('base64')}`;
		onRead(answer(200, { id: 7, status: 'completed', result }));
		sim.broadcast(message('7', 100));
		const [only] = await trigger.has(1);
		expect(only!.item.json).not.toHaveProperty('audio_url');
		expect(only!.item.binary!.data!.mimeType).toBe('audio/mpeg');
	});

	it('is told also when its audio cannot be fetched, and why', async () => {
		onFile(answer(410, { error: `Gone for ${sim.token}` }), { times: 9 });
		const trigger = await activate({ parameters: { download: true } });
		const taskId = await createTask('No file');
		const [only] = await trigger.has(1);
		expect(only!.item.json).toMatchObject({ event: 'completed', task_id: taskId });
		expect(only!.item.json.audio_url).toBe(sim.tasks.get(taskId)!.audioUrl);
		expect(only!.item.json.error).toMatch(/could not be downloaded.*410/);
		expect(only!.item.json.error_kind).toBe('file');
		expect(only!.item.binary).toBeUndefined();
	});
});

it.each([
	[{ error: 'No voice' }, 'No voice'],
	[{}, 'The service gave no reason'],
])('a task that has failed is told once, and why: %j', async (reason, error) => {
	const setting = { parameters: { events: ['failed'] }, nodeId: error };
	const trigger = await activateListening(setting);
	onRead(answer(200, { status: 'error', ...reason }), ALWAYS);
	sim.broadcast(message('7', 100));
	const [only] = await trigger.has(1);
	const expected = { event: 'failed', status: 'error', error, error_kind: 'other' };
	expect(only!.item.json).toMatchObject(expected);
	await trigger.close();
	const next = await activateListening(setting);
	sim.broadcast(message('8', 100));
	expect((await next.has(1))[0]!.item.json.task_id).toBe('8');
});

it('a task that has completed is told a minute later without its audio, and why', async () => {
	fakeTime();
	onRead(answer(200, { status: 'completed' }), ALWAYS);
	const trigger = await activateListening();
	sim.broadcast(message('bare', 50));
	sim.broadcast(message('bare', 100));
	const seconds = await passUntil(() => trigger.started.length > 0, 120);
	expect(seconds).toBeGreaterThan(55);
	expect(trigger.started[0]!.item.json).toMatchObject({ event: 'completed', task_id: 'bare' });
	expect(trigger.started[0]!.item.json.error).toMatch(/audio is not available yet/);
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
		const other = await activateListening({ parameters: onAll });
		for (const percentage of [21, 43, 40, 57, 71, 93, 100]) {
			sim.broadcast(message('7', percentage));
			// Another trigger tells of another task once this has been dealt with.
			sim.broadcast(message(`at${percentage}`, 20));
			await other.until(`progress at${percentage} 20`);
		}
		const reported = trigger.started.filter(({ item }) => item.json.task_id === '7');
		expect(reported.map(({ item }) => item.json.process_percentage)).toEqual(percentages);
		expect(new Set(reported.map(({ key }) => key)).size).toBe(percentages.length);
		expect(reported[0]!.item.json).toEqual({
			event: 'progress',
			task_id: '7',
			process_percentage: percentages[0],
		});
	});

	it('starts an execution of a task when the one before has ended, with the latest percentage', async () => {
		const trigger = await activate({ parameters: onAll, executionsLast: true });
		sim.broadcast(message('1', 21));
		sim.broadcast(message('2', 21));
		await trigger.has(2);
		for (const percentage of [50, 93]) {
			sim.broadcast(message('1', percentage));
			sim.broadcast(message('2', percentage));
		}
		// What came before it was heard as well.
		sim.broadcast(message('3', 21));
		await trigger.has(3);
		trigger.started.forEach(({ done }) => done());
		await trigger.has(5);
		expect(trigger.events().sort()).toEqual([
			...['progress 1 21', 'progress 1 93'],
			...['progress 2 21', 'progress 2 93'],
			'progress 3 21',
		]);
	});

	it('of a task that has ended before there was room for it starts nothing', async () => {
		const parameters = onAll;
		const full = await activateListening({ parameters, executionsLast: true });
		const free = await activateListening({ parameters });
		for (let n = 0; n < 20; n++) sim.broadcast(message(`full ${n}`, 21));
		await full.has(20);
		const taskId = await createTask('Ends meanwhile');
		await free.until(`completed ${taskId} 100`);
		full.started.forEach(({ done }) => done());
		await full.until(`completed ${taskId} 100`);
		expect(full.started.length).toBe(21);
		expect(free.events().filter((event) => event.includes(taskId)).length).toBeGreaterThan(1);
	});
});

it('a burst starts every execution, twenty at a time', async () => {
	const trigger = await activate({ executionsLast: true });
	await Promise.all(Array.from({ length: 50 }, (_, n) => createTask(`Number ${n}`)));
	await sim.waitFor(() => tasks().every(({ readCount: reads }) => reads > 0));
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

it('only tasks whose IDs are named are told of, also if they completed before, and once', async () => {
	await start({ pace: 0.1 });
	const finished = await createTask('Over long ago');
	await sim.waitFor(() => isMade(finished));
	const subject = await createTask('Mine');
	const setting = { parameters: { taskIds: ` ${subject} ,99999, ${finished}` }, nodeId: 'named' };
	const trigger = await activate(setting);
	const other = await createTask('[sim:slow=1] Not mine');
	await trigger.has(2);
	await sim.waitFor(() => isMade(other));
	const all = [subject, finished].map((id) => `completed ${id} 100`);
	expect(trigger.events().sort()).toEqual(all.sort());
	expect(sim.tasks.get(other)!.readCount).toBe(0);
	await trigger.close();
	const again = await activate(setting);
	await createTask('Another');
	await sim.waitFor(areMade);
	expect([trigger.started.length, again.started]).toEqual([2, []]);
});

it('trigger and waiting items share one socket', async () => {
	await start({ pace: 0.2 });
	const trigger = await activate();
	const running = await begin(speech('Together'));
	await sim.waitFor(() => sim.tasks.size === 1);
	expect(sim.countOpenSockets()).toBe(1);
	const result = await running.finished;
	expect(good(result)[0]?.json.status).toBe('completed');
	await trigger.has(1);
	expect([sim.openedSocketCount, sim.countOpenSockets()]).toEqual([1, 1]);
	await trigger.close();
	await sim.waitFor(() => sim.countOpenSockets() === 0, 1000);
});

it('the token, in every field of a task and its file, is nowhere in what is told, kept and logged', async () => {
	const setting = { parameters: { ...onAll, download: true } };
	const trigger = await activateListening(setting);
	const audio_url = `${sim.baseUrl}/files/x.wav?token=${sim.token}`;
	onFile(answer(200, Buffer.alloc(2000, 1)), ALWAYS);
	onRead(answer(200, { id: sim.token, status: 'completed', name: sim.token, audio_url }), ALWAYS);
	sim.broadcast(message(`4710-${sim.token}`, 40));
	sim.broadcast(message('4712', 40));
	sim.broadcast(message('4711', 100));
	await trigger.has(3);
	expect(JSON.stringify(trigger.started)).toContain('*****');
	const stored = contentsOf(process.env.N8N_USER_FOLDER!);
	expect(findToken(sim.token, { stored, log: await logged() })).toBeUndefined();
});

it('a trigger that was killed tells again, with the same key, what was told last, and what was under way', async () => {
	await start({ pace: 0.1 });
	const setting = { nodeId: 'killed' };
	const before = await activate(setting);
	await createTask('[sim:slow=1] Over');
	await before.has(1);
	const inFlight = await createTask('[sim:slow=10] Under way');
	// The trigger has heard of it: the service is one message further.
	await sim.waitFor(() => sim.tasks.get(inFlight)!.percentage >= 43);
	const done = await createTask('[sim:slow=1] Done');
	const { key } = (await before.has(2))[1]!;
	const staticData = before.saved();
	const after = await activate({ ...setting, staticData: structuredClone(staticData) });
	await after.has(2);
	expect(after.events()).toEqual([`completed ${done} 100`, `completed ${inFlight} 100`]);
	const [again, other] = after.started.map((one) => one.key);
	expect(again).toBe(key);
	expect(key!.length).toBeLessThanOrEqual(255);
	expect(other).not.toBe(key);

	// Three minutes later n8n may have forgotten the key, and would start it twice.
	const now = Date.now();
	const clock = jest.spyOn(Date, 'now').mockImplementation(() => now + 180_000);
	const late = await activate({ ...setting, staticData });
	clock.mockRestore();
	const next = await createTask('[sim:slow=2] Next');
	await late.has(2);
	expect(late.events()).toEqual([`completed ${inFlight} 100`, `completed ${next} 100`]);
});

test('who publishes is told where to select a credential, if none is', async () => {
	await expect(activate({ credentials: {} })).rejects.toThrow(
		"'Credential' is empty: select one in this field of the node",
	);
});
