import { allClosed } from './seen';
import { ALWAYS, answer, made, message, onFile, onHistory, onRead, readings } from './service';
import { fakeTime, sim, start } from './setup';
import { pass, passUntil, passWhile } from './time';
import {
	activate,
	activateListening,
	areMade,
	createTask,
	isMade,
	listenByHand,
} from './triggerSetup';

const refusal = async (work: Promise<unknown>) =>
	(await work.catch((error: Error) => error)) as Error & { description?: string };

describe('a trigger that cannot work', () => {
	it.each([
		[{ events: [] }, /'Trigger On' is empty/],
		[{ events: ['sometimes'] }, /'Trigger On' must be one or more of completed, failed, progress/],
		[{ events: ['progress'], options: { progressStep: 0 } }, /'Progress Step' .* from 1 to 100/],
		[{ taskIds: 'a, b/c' }, /'Task IDs' must contain only task IDs/],
		[{ options: { outputField: ' ' } }, /'Put Output File in Field' is empty/],
		[{ events: ['generated'], options: { checkInterval: 9 } }, /'Check Interval' .* from 10/],
	])('says which field is wrong: %j', async (parameters, expected) => {
		const error = await refusal(activate({ parameters }));
		expect(error.message).toMatch(expected);
		expect(error.constructor.name).toBe('NodeOperationError');
		expect(sim.requests).toEqual([]);
	});

	it('says that the token is refused, in the word by which n8n gives up', async () => {
		const error = await refusal(activate({ credential: { apiToken: 'wrong-token' } }));
		expect(error.message).toMatch(/^Authorization failed: the service refused the API token/);
		expect(error.constructor.name).toBe('NodeApiError');
		expect(error.description).toMatch(
			/API Token.* If the workflow was published, publish it again\.$/,
		);
		expect(sim.openedSocketCount).toBe(0);
	});
});

describe('who publishes', () => {
	it.each([404, 200])('is told at once that a web page is no service (%d)', async (status) => {
		sim.fault({ path: '/v1/', action: answer(status, '<p>Welcome</p>'), ...ALWAYS });
		const error = await refusal(activate({ activationMode: 'activate' }));
		expect(error.message).toMatch(/does not come from a media generation service/);
		expect(error.description).toMatch(/Base URL/);
		await allClosed();
	});

	it.each<'activate' | 'update'>(['activate', 'update'])(
		'is told at once that the WebSocket is blocked, and what to check (%s)',
		async (activationMode) => {
			sim.setWebSocketMode('refuse');
			const error = await refusal(activate({ activationMode }));
			expect(error.message).toMatch(/Check 'WebSocket URL' in the credential.*'Task IDs'/);
			expect(error.message).not.toMatch(/Authorization/);
			await allClosed();
		},
	);

	it('waits for a WebSocket that is refused only at first', async () => {
		sim.setWebSocketMode('refuse');
		const activating = activate({ activationMode: 'activate' });
		await sim.waitFor(() => sim.requests.some(({ status }) => status === 403));
		sim.setWebSocketMode('normal');
		await activating;
		expect(sim.countOpenSockets()).toBe(1);
	});

	it.each([{ hang: true }, answer(500)])(
		'is not refused where only the history can’t be read, nor kept waiting: %j',
		async (action) => {
			onHistory(action, ALWAYS);
			fakeTime();
			const start = Date.now();
			const trigger = await passWhile(activate({ parameters: { events: ['generated'] } }));
			expect(Date.now() - start).toBeLessThan(30_000);
			sim.clearFaults();
			await pass(60, 5);
			sim.history.unshift(made('video'));
			await passUntil(() => trigger.started.length === 1, 70);
		},
	);

	it('needs no WebSocket for tasks that are named', async () => {
		sim.setWebSocketMode('refuse');
		const taskId = await createTask('Named');
		await sim.waitFor(() => isMade(taskId));
		const trigger = await activate({ parameters: { taskIds: taskId } });
		await trigger.has(1);
	});
});

describe.each<'init' | 'leadershipChange'>(['init', 'leadershipChange'])(
	'n8n itself, as after a restart (%s),',
	(activationMode) => {
		it.each<[string, () => void]>([
			['the WebSocket is blocked', () => {}],
			['the service is away', () => sim.fault({ path: '/v1/', action: answer(502), times: 9 })],
			[
				'a replica refuses the token',
				() =>
					sim.fault({ path: '/v1/', action: answer(401, { error: 'invalid_token' }), times: 2 }),
			],
			['a web page is in its place', () => sim.fault({ path: '/v1/', action: answer(404, '<p>') })],
		])('is not refused where %s: it listens as soon as it can', async (_, prepare) => {
			sim.setWebSocketMode('refuse');
			prepare();
			fakeTime();
			const parameters = { events: ['completed', 'generated'] };
			const trigger = await activate({ activationMode, parameters });
			await pass(20);
			sim.clearFaults();
			sim.setWebSocketMode('normal');
			await passUntil(() => sim.countOpenSockets() === 1);
			const taskId = await createTask('At last');
			await passUntil(() => trigger.events().includes(`completed ${taskId} 100`));
			// It has read the history by now.
			await pass(60, 5);
			sim.history.unshift(made('video'));
			await passUntil(() => trigger.started.some(({ item }) => item.json.id === 'video'), 70);
			expect(trigger.errors).toEqual([]);
		});
	},
);

describe('a token that is refused while the workflow is active', () => {
	const checks = () => sim.countRequests('GET', '/v1/video/me');
	const refuseToken = () => {
		const action = answer(401, { error: `invalid ${sim.token}` });
		sim.fault({ path: '/v1/', action, ...ALWAYS });
	};

	it('ends the trigger with a message after two minutes, and closes everything', async () => {
		fakeTime();
		const trigger = await activateListening();
		await activateListening();
		refuseToken();
		sim.setWebSocketMode('refuse');
		sim.dropSockets();
		const before = checks();
		const seconds = await passUntil(() => trigger.errors.length > 0, 200);
		expect(seconds).toBeGreaterThanOrEqual(119);
		expect(seconds).toBeLessThan(150);
		// One check serves both.
		expect(checks() - before).toBeLessThan(30);
		const [error] = trigger.errors;
		expect(error!.message).toMatch(/refused the API token/);
		expect(error!.constructor.name).toBe('NodeApiError');
		jest.useRealTimers();
		await allClosed();
		expect(trigger.errors.length).toBe(1);
	});

	it.each(['completed', 'generated'])(
		'ends the trigger also where no WebSocket is closed, once it can read nothing (%s)',
		async (event) => {
			fakeTime();
			const parameters = { events: [event] };
			const trigger = await passWhile(activate({ parameters }));
			await pass(2);
			refuseToken();
			sim.broadcast(message('refused', 100));
			await passUntil(() => trigger.errors.length > 0, 260);
			expect(trigger.errors[0]!.message).toMatch(/refused the API token/);
		},
	);

	it('for twelve seconds is not noticed by anybody', async () => {
		await start({ pace: 0 });
		fakeTime();
		const trigger = await activateListening();
		refuseToken();
		sim.setWebSocketMode('refuse');
		sim.broadcast(message('during', 100));
		await passUntil(() => readings('during').length > 0);
		sim.dropSockets();
		await pass(12);
		sim.clearFaults();
		sim.setWebSocketMode('normal');
		onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
		await passUntil(() => trigger.started.length > 0, 30);
		expect(trigger.events()).toEqual(['completed during 100']);
		await pass(150, 5);
		expect(trigger.errors).toEqual([]);
	});
});

describe('closing', () => {
	it('starts no execution for a file that is not there yet', async () => {
		await start({ pace: 0.01 });
		const trigger = await activateListening({ parameters: { download: true } });
		onFile({ hang: true }, ALWAYS);
		const taskId = await createTask('A file');
		await sim.waitFor(() => isMade(taskId) && sim.countRequests('GET', '/files/') > 0);
		await trigger.close();
		await allClosed(1000);
		expect(trigger.started).toEqual([]);
	});

	it('closes the socket and every request within a second', async () => {
		const trigger = await activate();
		onRead({ hang: true }, ALWAYS);
		sim.broadcast(message('4711', 100));
		await sim.waitFor(() => readings('4711').length > 0);
		await trigger.close();
		await allClosed(1000);
		await trigger.close();
		const requestCount = sim.requests.length;
		sim.broadcast(message('4712', 100));
		await createTask('Nobody listens');
		await sim.waitFor(areMade);
		expect(sim.requests.length).toBe(requestCount + 1);
		expect(trigger.started).toEqual([]);
	});
});

describe('listening by hand', () => {
	it('ends with the first wanted event', async () => {
		const listening = await listenByHand();
		await listening.start();
		const taskId = await createTask('By hand');
		const item = await listening.first;
		expect(item?.json).toMatchObject({ event: 'completed', task_id: taskId });
		await listening.close();
		await allClosed();
	});

	it('can be given up, before and after it has begun', async () => {
		const listening = await listenByHand();
		await listening.start();
		await sim.waitFor(() => sim.countOpenSockets() === 1);
		await listening.close();
		await allClosed();
		const early = await listenByHand();
		await early.close();
		// While n8n reads the credential.
		const requestCount = sim.requests.length;
		const retried = await listenByHand();
		const starting = retried.start();
		await retried.close();
		await starting;
		expect(sim.requests.length).toBe(requestCount);
		expect(sim.countOpenSockets()).toBe(0);
	});

	it('says what is wrong with the token, the service, the WebSocket, or the task', async () => {
		const wrong = await listenByHand({ credential: { apiToken: 'wrong-token' } });
		expect((await refusal(wrong.start())).message).toMatch(/refused the API token/);
		const unreachable = await listenByHand({ credential: { baseUrl: 'http://127.0.0.1:1' } });
		expect((await refusal(unreachable.start())).message).toMatch(/refused the connection/);
		sim.setWebSocketMode('refuse');
		const blocked = await listenByHand();
		expect((await refusal(blocked.start())).message).toMatch(/whether a proxy blocks WebSockets/);
		const unknown = await listenByHand({ parameters: { taskIds: '4711' } });
		await unknown.start();
		expect((await refusal(unknown.first)).message).toMatch(/has no task with this ID.*4711/);
		await allClosed();
	});
});
