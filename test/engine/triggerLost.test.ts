import { bad } from './seen';
import { ALWAYS, answer, message, onCreate, onRead, tasks } from './service';
import { fakeTime, sim, speech, start } from './setup';
import { pass, passUntil, passWhile } from './time';
import {
	activate,
	activateListening,
	beginCalled,
	callOf,
	CALLER,
	createTask,
} from './triggerSetup';

/* A called workflow loses the response to its create call for speech. Then only the text tells its task from others. */

const called = { workflowId: CALLER, behind: [callOf()] };
/** Another spelling of the Base URL, so that the requests count as those of another account. */
const elsewhere = () => ({ baseUrl: sim.baseUrl.replace('127.0.0.1', 'localhost') }) as never;
/** Begins the called workflow, whose create call gets no answer of the service, which has not accepted it. */
const beginLost = async () => {
	onCreate(answer(502, '<html>Bad gateway</html>'), { body: 'Own', times: 1 });
	return await beginCalled(speech('Own'));
};
const failing = (input: string) =>
	onRead(answer(200, { id: '1', status: 'error', error: 'No', input }), ALWAYS);

describe('another task starts the workflow, though its events do not tell its text', () => {
	test('where progress is listened for, and the task completes', async () => {
		await start({ pace: 0.2 });
		const parameters = { events: ['progress', 'completed'] };
		const trigger = await activateListening({ ...called, parameters });
		bad(await (await beginLost()).finished);
		const foreign = await createTask('Somebody else’s');
		await trigger.until(`completed ${foreign} 100`);
	});

	test('where failures are listened for, and the task fails', async () => {
		await start({ pace: 0.5 });
		const trigger = await activateListening({ ...called, parameters: { events: ['failed'] } });
		fakeTime();
		await passWhile((await beginLost()).finished);
		const foreign = await createTask('Other');
		failing('Other');
		sim.broadcast(message(foreign, 30));
		await pass(100);
		expect(trigger.started).toHaveLength(1);
	});

	test('where a replica does not know the task at first', async () => {
		await start({ pace: 1 });
		const parameters = { events: ['progress', 'completed'] };
		const trigger = await activateListening({ ...called, parameters });
		fakeTime();
		await passWhile((await beginLost()).finished);
		const foreign = await createTask('Other [sim:slow=60]');
		onRead(answer(404, { error: 'task not found' }), { times: 1 });
		sim.broadcast(message(foreign, 10));
		await pass(200);
		expect(trigger.events()).toContain(`completed ${foreign} 100`);
	});
});

describe('its own task starts nothing', () => {
	test.each([
		['its end is listened for', ['completed'], undefined],
		['its progress is listened for', ['progress', 'completed'], undefined],
		[
			'the service tells the text with other white space',
			['completed'],
			'Own text [sim:slow=1500]',
		],
	])('that waited for 25 minutes in the queue after 504, where %s', async (_, events, input) => {
		await start({ pace: 1 });
		let rounds = 0;
		onCreate({ accepted: true, ...answer(504, '<html>Gateway timeout</html>') }, ALWAYS);
		if (input)
			onRead(answer(200, { id: '1', status: 'completed', input, audio_url: '/a.wav' }), ALWAYS);
		const runCalled = async () => {
			if (++rounds > 3) return undefined;
			const { finished } = await beginCalled(speech('Own  text [sim:slow=1500]'));
			return (await finished).run;
		};
		const parameters = { events };
		const execute = async () => (await runCalled()) as never;
		await activateListening({ ...called, parameters, execute });
		fakeTime();
		const first = runCalled();
		await pass(1450, 10);
		for (const id of sim.tasks.keys()) sim.broadcast(message(id, 30));
		await pass(1000, 10);
		await first;
		expect(tasks()).toHaveLength(1);
	});

	test('whose failure is told, with another spelling of the Base URL', async () => {
		await start({ pace: 0.2 });
		fakeTime();
		const parameters = { events: ['failed'] };
		const [trigger] = await Promise.all([activate({ ...called, parameters }), pass(3)]);
		failing('Own');
		const { finished } = await beginCalled(speech('Own'), { credential: elsewhere() });
		await passUntil(() => sim.tasks.size === 1);
		sim.broadcast(message([...sim.tasks.keys()][0]!, 30));
		await pass(100);
		await finished;
		expect(trigger.started).toEqual([]);
	});
});
