import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { WebSocketServer, type WebSocket as ServerSocket } from 'ws';
import type { NewsKind } from '../../nodes/shared/async/pollUntil';
import { subscribe, type Connection } from '../../nodes/shared/speech/notifications';
import { readCredential } from '../../nodes/shared/http/credential';
import { FakeService } from '../service/fakeService.mts';
import { fakeTime } from '../service/fakeTime.mts';

/* The account's socket, with real connections. Of tasks and messages: test/engine, docs/faults.md. */

/** What the service does with the next handshakes; a deaf one never answers the closing. */
let mode: 'accept' | 'refuse' | 'hang' | 'deaf';
let service: FakeService;
/** `asked` for a socket, and `opened` one. */
let events: EventEmitter;
let requests: string[];
/** The connection of the latest handshake. */
let connection: Socket;
let sockets: ServerSocket[];
let subscriptions: Connection[];
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
			if (mode === 'accept' || mode === 'deaf') {
				acceptor.handleUpgrade(request, socket, early, (opened) => {
					if (mode === 'deaf') opened.pause();
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
async function listen(apiToken = token): Promise<Connection> {
	const credential = readCredential({ apiToken, baseUrl: service.url });
	const subscription = subscribe(credential, async () => {});
	subscriptions.push(subscription);
	await subscription.ready();
	return subscription;
}

/** Somebody no longer listens. */
function leave(subscription: Connection): void {
	subscriptions.splice(subscriptions.indexOf(subscription), 1);
	void subscription.release();
}

/** Somebody who listens to a task: all that they hear, which the test can wait for. */
async function follow(taskId = '1', apiToken = token) {
	const subscription = await listen(apiToken);
	const heard: Array<number | undefined | 'change'> = [];
	let wake = () => {};
	subscription.follow(taskId, (news: NewsKind, percentage?: number) => {
		heard.push(news === 'lost' || news === 'back' ? 'change' : percentage);
		wake();
	});
	/** Resolves once so many things were heard. */
	const has = async (amount: number) => {
		while (heard.length < amount) await new Promise<void>((resolve) => (wake = resolve));
		return heard;
	};
	/** Ends the newest socket, and resolves once that was noticed. */
	const cut = async () => {
		const before = heard.length;
		sockets.at(-1)!.terminate();
		await has(before + 1);
	};
	return { subscription, heard, has, cut };
}

/** Sends a message over the newest socket. */
const send = (process_percentage?: number, task_id = '1') =>
	sockets
		.at(-1)!
		.send(
			JSON.stringify({ type: 'labs_status_updated', payload: { task_id, process_percentage } }),
		);
const closed = async (socket: ServerSocket | Socket) =>
	void (await once(socket as Socket, 'close'));
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
		const over = closed(sockets[0]!);
		leave(first);
		send(7);
		expect(await second.has(1)).toEqual([7]);
		leave(second.subscription);
		await over;
		expect((await listen()).isOpen).toBe(true);
		expect(requests.length).toBe(2);
	});

	it('is given up at once when the last one leaves before the handshake is answered', async () => {
		mode = 'hang';
		const asked = once(events, 'asked');
		void listen();
		await asked;
		const [gone, began] = [closed(connection), Date.now()];
		leave(subscriptions[0]!);
		await gone;
		// An answer is waited for three times as long.
		expect(Date.now() - began).toBeLessThan(5000);
	});

	it.each<[string, number[], number]>([
		['the highest of them', [43, 93, 71], 93],
		['also one that is done', [100], 100],
	])('delivers what came before anybody followed: %s', async (_, percentages, latest) => {
		const marker = await follow('marker');
		for (const percentage of percentages) send(percentage);
		send(1, 'marker');
		await marker.has(1);
		expect((await follow()).heard).toEqual([latest]);
	});

	it.each<'refuse' | 'hang'>(['refuse', 'hang'])(
		'holds nothing up beyond 3 s where it cannot be had (%s), and is asked for again',
		async (how) => {
			mode = how;
			const began = Date.now();
			const { subscription, has } = await follow();
			expect(Date.now() - began).toBeLessThan(10_000);
			expect(subscription.isOpen).toBe(false);
			mode = 'accept';
			if (how === 'hang') connection.destroy();
			await has(1);
			expect(subscription.isOpen).toBe(true);
		},
	);

	it('is nothing to wait for where the runtime has none', async () => {
		const own = globalThis.WebSocket;
		try {
			Reflect.deleteProperty(globalThis, 'WebSocket');
			expect((await listen()).isOpen).toBe(false);
		} finally {
			globalThis.WebSocket = own;
		}
		expect(requests).toEqual([]);
	});
});

describe('a socket that is lost', () => {
	beforeEach(() => void fakeTime());

	it('is opened again within half a second when it had stood for ten seconds, else later and later', async () => {
		const { cut, has } = await follow();
		await jest.advanceTimersByTimeAsync(10_100);
		await cut();
		await within(500);
		await has(2);
		await cut();
		await jest.advanceTimersByTimeAsync(450);
		expect(requests.length).toBe(2);
		await within(600);
	});

	it('is asked for ever more rarely while the service refuses, and not at all for nobody', async () => {
		const { subscription, cut } = await follow();
		mode = 'refuse';
		await cut();
		const pass = async (seconds: number) => {
			for (let step = 0; step < 20 * seconds; step++) {
				await jest.advanceTimersByTimeAsync(50);
				await settle();
			}
			return requests.length;
		};
		const asked = await pass(10);
		expect(asked).toBeGreaterThan(3);
		// At 0, 0.5, 1.5, 3.5 and 7.5 s at most; after a 401 Node tries each once more by itself.
		expect(asked).toBeLessThanOrEqual(11);
		leave(subscription);
		const last = await pass(1);
		expect(await pass(30)).toBe(last);
	});
});

describe('a socket that is silent', () => {
	beforeEach(() => void fakeTime());

	it('is left alone as long as anything comes, and replaced after 60 s', async () => {
		const { has } = await follow();
		for (let round = 1; round <= 3; round++) {
			await jest.advanceTimersByTimeAsync(50_000);
			send(round);
			await has(round);
		}
		const over = closed(sockets[0]!);
		await jest.advanceTimersByTimeAsync(59_000);
		expect(requests.length).toBe(1);
		await Promise.all([within(1000), over]);
	});

	it('delivers until another is there, and is given up when none comes', async () => {
		const { subscription, heard, has } = await follow();
		const over = closed(sockets[0]!);
		mode = 'hang';
		await within(60_000);
		send(43);
		expect(await has(1)).toEqual([43]);
		expect(subscription.isOpen).toBe(true);
		await jest.advanceTimersByTimeAsync(15_000);
		await over;
		expect(heard).toEqual([43, 'change']);
		expect(subscription.isOpen).toBe(false);
	});
});

/* The global WebSocket holds on for ever to a connection whose closing is not answered. */
describe('a service that never answers the closing', () => {
	beforeEach(() => void (mode = 'deaf'));

	it('is left with one connection that was asked to close, and one for all to come', async () => {
		fakeTime();
		for (let run = 0; run < 5; run++) {
			const [one, other] = [await follow(`${run}`), await listen()];
			send(run, `${run}`);
			expect(await one.has(1)).toEqual([run]);
			leave(one.subscription);
			leave(other);
			// It rests a moment before it closes.
			await jest.advanceTimersByTimeAsync(1000);
			await settle();
		}
		expect([requests.length, service.open()]).toEqual([2, 2]);
	});

	it('has a silent socket replaced once, and again only when the first one is gone', async () => {
		fakeTime();
		const { subscription, has } = await follow();
		await within(60_000);
		await settle();
		for (let minute = 0; minute < 5; minute++) await jest.advanceTimersByTimeAsync(60_000);
		expect(requests.length).toBe(2);
		expect(subscription.isOpen).toBe(true);
		send(5);
		expect(await has(1)).toEqual([5]);
		await jest.advanceTimersByTimeAsync(60_000);
		const again = once(events, 'asked');
		sockets[0]!.terminate();
		await again;
	});
});
