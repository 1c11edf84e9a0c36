import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { WebSocketServer, type WebSocket as ServerSocket } from 'ws';
import type { ChannelEvent } from '../../nodes/shared/async/pollSchedule';
import { acquireSocket, type AccountSocket } from '../../nodes/shared/speech/accountSocket';
import { readCredential } from '../../nodes/shared/http/credential';
import type { ServiceContext } from '../../nodes/shared/http/request';
import { eventually } from '../../tools/eventually.mts';
import { FakeService } from '../service/fakeService.mts';
import { fakeTime } from '../service/fakeTime.mts';

/* The account's socket, with real connections. Of tasks and messages: test/engine, docs/faults.md. */

/** What the service does with the next handshakes; a deaf one never answers the closing. */
let mode: 'accept' | 'refuse' | 'hang' | 'deaf' | 'close';
let service: FakeService;
/** `asked` for a socket, and `opened` one. */
let events: EventEmitter;
let requests: string[];
/** The connection of the latest handshake. */
let connection: Socket;
let sockets: ServerSocket[];
let subscriptions: AccountSocket[];
let count = 0;
let token: string;

beforeEach(async () => {
	mode = 'accept';
	events = new EventEmitter();
	[requests, sockets, subscriptions] = [[], [], []];
	token = `token/${++count}+`;
	const acceptor = new WebSocketServer({ noServer: true });
	service = await FakeService.start(
		() => {},
		(request, socket, early) => {
			requests.push(request.url!);
			connection = socket;
			if (mode === 'refuse') socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
			if (mode === 'hang') socket.resume().on('end', () => socket.end());
			if (!['refuse', 'hang'].includes(mode)) {
				acceptor.handleUpgrade(request, socket, early, (opened) => {
					if (mode === 'deaf') opened.pause();
					if (mode === 'close') opened.close(1008);
					sockets.push(opened);
					events.emit('opened');
				});
			}
			events.emit('asked');
		},
	);
});

afterEach(async () => {
	jest.useRealTimers();
	for (const subscription of subscriptions) void subscription.release();
	await service.stop();
});

/** Somebody who listens, once that has begun. */
async function listen(apiToken = token, helpers = {}): Promise<AccountSocket> {
	const credential = readCredential({ apiToken, baseUrl: service.url });
	const subscription = acquireSocket(credential, { helpers } as ServiceContext);
	subscriptions.push(subscription);
	await subscription.ready();
	return subscription;
}

/** Somebody no longer listens. */
async function leave(subscription: AccountSocket): Promise<void> {
	subscriptions.splice(subscriptions.indexOf(subscription), 1);
	await subscription.release();
}

/** Somebody who listens to a task: all that they hear, which the test can wait for. */
async function follow(taskId = '1', apiToken = token) {
	const subscription = await listen(apiToken);
	const received: Array<number | ChannelEvent> = [];
	let wake = () => {};
	subscription.subscribeToTask(taskId, (event: ChannelEvent, percentage?: number) => {
		received.push(percentage ?? event);
		wake();
	});
	/** Resolves once so many things were heard. */
	const has = async (amount: number) => {
		while (received.length < amount) await new Promise<void>((resolve) => (wake = resolve));
		return received;
	};
	/** Ends the newest socket, and resolves once that was noticed. */
	const cut = async () => {
		sockets.at(-1)!.terminate();
		await has(received.length + 1);
	};
	return { subscription, has, cut };
}

/** Sends a message over the newest socket. */
function send(process_percentage: number, task_id = '1'): void {
	const payload = { task_id, process_percentage };
	sockets.at(-1)!.send(JSON.stringify({ type: 'labs_status_updated', payload }));
}
/** Lets the connections bring what they have. */
async function settle() {
	for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}
/** The next handshake, that must come within so many milliseconds. */
async function within(ms: number) {
	const again = once(events, 'asked');
	await jest.advanceTimersByTimeAsync(ms);
	await again;
}

describe('the socket of an account', () => {
	it('is at /ws with the token, encoded; one for all who listen, and not for other accounts', async () => {
		const [one, other] = await Promise.all([listen('a+b/c=d&e'), listen('a+b/c=d&e'), listen()]);
		expect([one.isOpen, other.isOpen]).toEqual([true, true]);
		const encoded = encodeURIComponent(token);
		expect(requests).toEqual(['/ws?token=a%2Bb%2Fc%3Dd%26e', `/ws?token=${encoded}`]);
	});

	it('closes with the last who listens, not before, and is opened anew', async () => {
		const [first, second] = [await listen(), await follow()];
		const socketClosed = once(sockets[0]!, 'close');
		await leave(first);
		send(7);
		expect(await second.has(1)).toEqual([7]);
		await leave(second.subscription);
		await socketClosed;
		expect((await listen()).isOpen).toBe(true);
		expect(requests.length).toBe(2);
	});

	it('is given up at once when the last one leaves before the handshake is answered', async () => {
		mode = 'hang';
		const upgradeAsked = once(events, 'asked');
		void listen();
		await upgradeAsked;
		const [gone, began] = [once(connection, 'close'), Date.now()];
		await Promise.all([leave(subscriptions[0]!), gone]);
		// An answer is waited for three times as long.
		expect(Date.now() - began).toBeLessThan(5000);
	});

	it('tells those who follow a task of it, and of every task who asks for all, until they leave', async () => {
		const subscription = await listen();
		const [leaving, staying, all]: unknown[][] = [[], [], []];
		const unsubscribe = subscription.subscribeToTask('1', (...event) => leaving!.push(event));
		subscription.subscribeToTask('1', (_, percentage) => staying!.push(percentage));
		const stopListening = subscription.listenToAllTasks((taskId) => all!.push(taskId));
		const marker = await follow('marker');
		send(43);
		send(100);
		send(1, 'marker');
		await marker.has(1);
		unsubscribe();
		stopListening();
		send(100);
		send(2, 'marker');
		await marker.has(2);
		expect([leaving, staying, all]).toEqual([
			[
				['progress', 43],
				['announced', 100],
			],
			[43, 100, 100],
			['1', '1', 'marker'],
		]);
	});

	it('delivers the highest percentage that came before anybody followed', async () => {
		const marker = await follow('marker');
		for (const percentage of [43, 93, 71]) send(percentage);
		send(1, 'marker');
		await marker.has(1);
		const { has } = await follow();
		expect(await has(1)).toEqual([93]);
	});

	it.each<[string, () => Promise<{ ok: boolean }>]>([
		['forbids it', async () => ({ ok: false })],
		['cannot resolve its host', async () => await Promise.reject(new Error('ENOTFOUND'))],
	])('is not opened while the policy %s, and by itself once it is allowed', async (_, refuse) => {
		let validateUrl = refuse;
		const policy = { getSecureEgressFilter: () => ({ validateUrl: () => validateUrl() }) };
		const subscription = await listen(token, policy);
		await listen(token, policy);
		expect([subscription.isOpen, requests.length]).toEqual([false, 0]);
		validateUrl = async () => ({ ok: true });
		await once(events, 'opened');
		await eventually('it to be open', 10_000, () => subscription.isOpen);
		expect(requests.length).toBe(1);
	});

	it.each(['refuse', 'hang'] as const)('holds nothing up for long (%s)', async (how) => {
		mode = how;
		const began = Date.now();
		const { subscription, has } = await follow();
		// 3 s at most, and it is asked for again.
		expect(Date.now() - began).toBeLessThan(10_000);
		expect(subscription.isOpen).toBe(false);
		mode = 'accept';
		if (how === 'hang') connection.destroy();
		expect(await has(1)).toEqual(['reconnected']);
		expect(subscription.isOpen).toBe(true);
	});
});

describe('a socket that is lost', () => {
	beforeEach(() => void fakeTime());

	it('is opened again at once when it had stood for some seconds, else a second later', async () => {
		const { cut, has } = await follow();
		for (let amount = 2; amount <= 6; amount += 2) {
			await jest.advanceTimersByTimeAsync(5000);
			await cut();
			await within(1);
			await has(amount);
		}
		await cut();
		await jest.advanceTimersByTimeAsync(450);
		expect(requests.length).toBe(4);
		await within(1600);
	});

	it('again and again after a second is opened within two seconds each time', async () => {
		const { cut, has } = await follow();
		for (let amount = 2; amount <= 20; amount += 2) {
			await jest.advanceTimersByTimeAsync(1000);
			await cut();
			await within(2000);
			await has(amount);
		}
		await cut();
		await jest.advanceTimersByTimeAsync(950);
		// Nor is a service hammered that cuts each one.
		expect(requests.length).toBe(11);
	});

	it('is asked for at once when a workflow is published', async () => {
		const { subscription, has, cut } = await follow();
		mode = 'refuse';
		await cut();
		for (let step = 0; step < 300; step++) {
			await jest.advanceTimersByTimeAsync(50);
			await settle();
		}
		mode = 'accept';
		const upgradeAsked = once(events, 'asked');
		subscription.openNow();
		await Promise.all([upgradeAsked, subscription.ready(), has(2)]);
		expect(subscription.isOpen).toBe(true);
	});

	it.each([
		['refuses', 'refuse' as const],
		['opens each and closes it at once', 'close' as const],
	])('is asked for ever more rarely while the service %s', async (_, how) => {
		const { cut } = await follow();
		mode = how;
		await cut();
		for (let step = 0; step < 600; step++) {
			await jest.advanceTimersByTimeAsync(100);
			await settle();
		}
		expect(requests.length).toBeGreaterThan(4);
		// At most at 0, 0.5, 1.5, 3.5, 7.5, 15.5, 30.5 and 45.5 s; after a 401 Node tries each once more by itself.
		expect(requests.length).toBeLessThanOrEqual(17);
	});
});

describe('a socket that is silent', () => {
	beforeEach(() => void fakeTime());

	it('is left alone as long as anything comes, delivers until another is there, and is given up', async () => {
		const { subscription, has } = await follow();
		await jest.advanceTimersByTimeAsync(50_000);
		send(21);
		await has(1);
		const socketClosed = once(sockets[0]!, 'close');
		mode = 'hang';
		await jest.advanceTimersByTimeAsync(59_000);
		expect(requests.length).toBe(1);
		await within(1000);
		send(43);
		expect(await has(2)).toEqual([21, 43]);
		expect(subscription.isOpen).toBe(true);
		await jest.advanceTimersByTimeAsync(15_000);
		await socketClosed;
		expect(await has(3)).toEqual([21, 43, 'disconnected']);
		expect(subscription.isOpen).toBe(false);
	});

	it('is replaced by one that is there', async () => {
		const { has } = await follow();
		const socketClosed = once(sockets[0]!, 'close');
		await Promise.all([within(60_000), socketClosed]);
		send(43);
		expect(await has(1)).toEqual([43]);
	});
});

/* The global WebSocket holds on for ever to a connection whose closing is not answered. */
it('a service that never answers the closing is left with one connection that was asked to, and one for all to come', async () => {
	mode = 'deaf';
	fakeTime();
	for (let run = 0; run < 5; run++) {
		const [one, other] = [await follow(`${run}`), await listen()];
		send(run, `${run}`);
		expect(await one.has(1)).toEqual([run]);
		for (const each of [one.subscription, other]) void leave(each);
		// It rests a moment before it closes.
		await jest.advanceTimersByTimeAsync(1000);
		await settle();
	}
	expect([requests.length, service.countConnections()]).toEqual([2, 2]);
	// Nor is a silent one replaced while that one is there.
	const { subscription } = await follow();
	await jest.advanceTimersByTimeAsync(300_000);
	expect([requests.length, subscription.isOpen]).toEqual([2, true]);
});
