import { good } from './seen';
import { ALWAYS, answer, looks, message, onRead, readings, tasks } from './service';
import { begin, fakeTime, run, sim, speech, start } from './setup';
import { pass, passUntil, passWhile } from './time';
import {
	activate,
	activateListening,
	beginCalled,
	callOf,
	CALLER,
	createTask,
} from './triggerSetup';

/* Many tasks, or many published workflows of one account, in one process. */

/** As many triggers as n8n starts again after a restart, one after another. */
async function activateTwenty(events: string[]) {
	const triggers = [];
	for (let n = 0; n < 20; n++) {
		triggers.push(await activate({ parameters: { events }, activationMode: 'init' }));
	}
	return triggers;
}

it('300 tasks that are announced at once are told within a minute, also beside 400 silent ones', async () => {
	fakeTime();
	onRead(answer(200, { status: 'processing' }), { path: '/v1/labs/task/silent', ...ALWAYS });
	onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
	const trigger = await activateListening();
	for (let n = 0; n < 400; n++) sim.broadcast(message(`silent-${n}`, 50));
	await pass(300, 10);
	for (let n = 0; n < 300; n++) sim.broadcast(message(`task-${n}`, 100));
	await passUntil(() => trigger.started.length === 300);
	// Silent ones are read no faster for that.
	expect(readings('silent').length).toBeLessThan(1700);
});

it('a task that has just ended is told, also if a thousand others were heard of since it began', async () => {
	fakeTime();
	onRead(answer(200, { status: 'processing' }), { path: '/v1/labs/task/silent', ...ALWAYS });
	onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
	const trigger = await activateListening();
	sim.broadcast(message('first', 50));
	for (let n = 0; n < 999; n++) sim.broadcast(message(`silent-${n}`, 50));
	await pass(1);
	sim.broadcast(message('first', 100));
	sim.broadcast(message('silent-999', 50));
	await passUntil(() => trigger.started.length === 1);
});

it('a task that was dropped a moment before its end is followed again', async () => {
	fakeTime();
	onRead(answer(200, { status: 'processing' }), { path: '/v1/labs/task/silent', ...ALWAYS });
	onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
	const trigger = await activateListening();
	sim.broadcast(message('first', 50));
	for (let n = 0; n < 999; n++) sim.broadcast(message(`silent-${n}`, 50));
	await pass(1);
	// These two arrive together.
	sim.broadcast(message('silent-999', 50));
	sim.broadcast(message('first', 100));
	await passUntil(() => trigger.started.length === 1);
});

it('of tasks that do not end, a thousand are followed', async () => {
	fakeTime();
	onRead(answer(200, { status: 'processing' }), ALWAYS);
	await activateListening();
	sim.broadcast(message('first', 50));
	sim.broadcast(message('first', 60));
	// It would be read before all others.
	await pass(5);
	for (let n = 0; n < 1000; n++) sim.broadcast(message(`silent-${n}`, 50));
	await passUntil(() => readings('silent').length > 0);
	expect(readings('first')).toEqual([]);
});

it('a task of its own sub-workflow may go on while a thousand others end', async () => {
	await start({ pace: 1 });
	fakeTime();
	const parameters = { events: ['progress'] };
	const trigger = await activate({ workflowId: CALLER, parameters, behind: [callOf()] });
	const { finished } = await beginCalled(speech('[sim:slow=36000] Its own'));
	await passUntil(() => tasks().length === 1);
	const { id } = tasks()[0]!;
	sim.broadcast(message(id, 20));
	await pass(2);
	onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), { path: /other/, ...ALWAYS });
	for (let n = 0; n < 1001; n++) {
		sim.broadcast(message(`other-${n}`, 100));
		if (n % 500 === 0) await passUntil(() => readings('other').length > n);
	}
	sim.broadcast(message(id, 60));
	await pass(2);
	expect(trigger.events().filter((event) => event.includes(id))).toEqual([]);
	sim.endTask(id);
	await passUntil(() => readings(id).length > 0);
	good(await passWhile(finished));
});

it.each([2, 5])(
	'silent tasks are read no more often if the WebSocket is cut every %d s than if there is none',
	async (seconds) => {
		fakeTime();
		onRead(answer(200, { status: 'processing' }), ALWAYS);
		await activateListening();
		for (let n = 0; n < 20; n++) sim.broadcast(message(`silent-${n}`, 50));
		for (let passed = 0; passed < 120; passed += seconds) {
			await pass(seconds);
			sim.dropSockets();
		}
		// Each is read once soon after the first cut, and then every 30 s.
		expect(readings('silent').length).toBeLessThanOrEqual(20 * 5);
	},
);

it('150 silent tasks do not hold up a Speak beside them, at 60 requests a minute', async () => {
	await start({ pace: 1 });
	fakeTime();
	await activateListening();
	const texts = Array.from({ length: 150 }, (_, n) => `[sim:silent-socket][sim:slow=36000] ${n}`);
	await Promise.all(texts.map(createTask));
	const ids = tasks().map(({ id }) => id);
	// A window of the limit begins.
	await pass(60 - ((Date.now() / 1000) % 60));
	sim.requestLimit = { requests: 60, seconds: 60 };
	for (const id of ids) sim.broadcast(message(id, 50));
	await pass(35);
	const { finished } = await begin(speech('Beside'));
	let isOver = false;
	void finished.finally(() => (isOver = true));
	expect(await passUntil(() => isOver, 600)).toBeLessThan(120);
	good(await finished);
});

describe('twenty published workflows of one account', () => {
	it('read each task once, also together with the node that has created it', async () => {
		const triggers = await activateTwenty(['completed']);
		await sim.waitFor(() => sim.countOpenSockets() === 1);
		good(await run(speech('For all')));
		await Promise.all(triggers.map(async (trigger) => await trigger.has(1)));
		expect(tasks().map(({ readCount: reads }) => reads)).toEqual([1]);
	});

	it('each hear within five minutes of 15 tasks that fail in silence', async () => {
		fakeTime();
		onRead(answer(200, { status: 'processing' }), ALWAYS);
		const triggers = await activateTwenty(['failed']);
		await passUntil(() => sim.countOpenSockets() === 1);
		for (let n = 0; n < 15; n++) sim.broadcast(message(`silent-${n}`, 50));
		await pass(900, 10);
		sim.clearFaults();
		onRead(answer(200, { status: 'error', error: 'No voice' }), ALWAYS);
		const areTold = () => triggers.every(({ started }) => started.length === 15);
		expect(await passUntil(areTold, 900)).toBeLessThan(350);
	});

	it('read a page of the history once', async () => {
		fakeTime();
		await Promise.all([activateTwenty(['generated']), pass(5)]);
		const before = looks();
		await pass(60);
		expect(looks() - before).toBeLessThanOrEqual(3);
	});

	it('read a page of the history once, whenever each was published', async () => {
		fakeTime();
		for (let n = 0; n < 20; n++) {
			const publishing = activate({
				parameters: { events: ['generated'] },
				activationMode: 'init',
			});
			await Promise.all([publishing, pass(4)]);
		}
		const before = looks();
		await pass(60);
		expect(looks() - before).toBeLessThanOrEqual(3);
	});

	it('read a silent task no more often than one of them does', async () => {
		fakeTime();
		onRead(answer(200, { status: 'processing' }), ALWAYS);
		await activateTwenty(['failed']);
		await passUntil(() => sim.countOpenSockets() === 1);
		for (let n = 0; n < 5; n++) sim.broadcast(message(`silent-${n}`, 50));
		await pass(1200, 10);
		const before = readings('silent').length;
		await pass(600, 10);
		expect(readings('silent').length - before).toBeLessThanOrEqual(15);
		// Nor is the token checked while messages come.
		expect(sim.countRequests('GET', '/v1/video/me')).toBeLessThanOrEqual(1);
	});

	it('check the token five times a minute at most behind a blocked WebSocket', async () => {
		sim.setWebSocketMode('refuse');
		fakeTime();
		await activateTwenty(['completed']);
		await pass(20);
		const before = sim.countRequests('GET', '/v1/video/me');
		await pass(60);
		expect(sim.countRequests('GET', '/v1/video/me') - before).toBeLessThanOrEqual(5);
	});
});

it('a workflow is published while the WebSocket, which was away, has not been tried again', async () => {
	await start({ pace: 0 });
	fakeTime();
	await activateListening();
	sim.setWebSocketMode('refuse');
	sim.dropSockets();
	await pass(90);
	sim.setWebSocketMode('normal');
	const [trigger] = await Promise.all([activate({ activationMode: 'activate' }), pass(5)]);
	expect(sim.countOpenSockets()).toBe(1);
	onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
	sim.broadcast(message('1', 100));
	await passUntil(() => trigger.started.length === 1);
});
