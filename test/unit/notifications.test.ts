import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket as ServerSocket } from 'ws';
import { subscribe as listenTo, type Subscription } from '../../nodes/shared/speech/notifications';
import { readCredential } from '../../nodes/shared/http/credential';

/** What the server does with the next handshakes. */
type Mode = 'accept' | 'refuse' | 'hang' | 'deaf';

let server: Server;
let mode: Mode;
let port: number;
let requests: string[];
let connections: Set<Duplex>;
let sockets: ServerSocket[];
let listenings: Subscription[];
let count = 0;
let token: string;

beforeEach(async () => {
	mode = 'accept';
	requests = [];
	connections = new Set();
	sockets = [];
	listenings = [];
	token = `token/${++count}+`;
	const acceptor = new WebSocketServer({ noServer: true });
	server = createServer();
	server.on('connection', (socket: Duplex) => {
		connections.add(socket);
		socket.on('error', () => {});
		socket.on('end', () => socket.end());
		socket.on('close', () => {
			connections.delete(socket);
			server.emit('gone');
		});
	});
	server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
		requests.push(request.url ?? '');
		if (mode === 'refuse') socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
		if (mode === 'hang') socket.resume();
		if (mode === 'deaf') answerAndIgnore(request, socket);
		if (mode === 'accept') {
			acceptor.handleUpgrade(request, socket, head, (opened) => {
				sockets.push(opened);
				server.emit('opened');
			});
		}
		server.emit('asked');
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	({ port } = server.address() as AddressInfo);
});

afterEach(async () => {
	for (const subscription of listenings) subscription.release();
	for (const connection of connections) connection.destroy();
	server.close();
	await once(server, 'close');
});

/** Completes the handshake, and takes no notice of anything afterwards. */
function answerAndIgnore(request: IncomingMessage, socket: Duplex) {
	const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
	const accept = createHash('sha1').update(key).digest('base64');
	socket.write(
		`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
	);
	socket.resume();
}

function listen(apiToken = token, checkEgress = async () => {}): Subscription {
	const credential = readCredential({ apiToken, baseUrl: `http://127.0.0.1:${port}` });
	const subscription = listenTo(credential, checkEgress);
	listenings.push(subscription);
	return subscription;
}

/** A follower that writes down what it is told, and lets the test wait for it. */
function follower() {
	const heard: Array<number | undefined | 'change'> = [];
	let wake = () => {};
	const tell = (news: number | undefined | 'change') => {
		heard.push(news);
		wake();
	};
	return {
		heard,
		onMessage: (percentage: number | undefined) => tell(percentage),
		onSocketChange: () => tell('change'),
		/** Resolves once so many things were heard. */
		async has(amount: number) {
			while (heard.length < amount) await new Promise<void>((resolve) => (wake = resolve));
			return heard;
		},
	};
}

const status = (taskId: unknown, percentage?: unknown) =>
	JSON.stringify({
		type: 'labs_status_updated',
		payload: { task_id: taskId, process_percentage: percentage },
	});

/** Resolves once the other side of a socket has closed it. */
const closed = async (socket: ServerSocket | Duplex) => {
	await once(socket as Duplex, 'close');
};

describe('the socket of an account', () => {
	it('is at /ws with the token, encoded', async () => {
		await listen('a+b/c=d&e').ready;
		expect(requests).toEqual(['/ws?token=a%2Bb%2Fc%3Dd%26e']);
	});

	it('is one for all who listen', async () => {
		const all = [listen(), listen(), listen()];
		await Promise.all(all.map(async ({ ready }) => await ready));
		expect(all.map((one) => one.isOpen())).toEqual([true, true, true]);
		await listen().ready;
		expect(requests.length).toBe(1);
	});

	it('is not shared with another account, nor are its messages', async () => {
		const theirs = listen(`${token}-other`);
		await theirs.ready;
		const mine = listen();
		await mine.ready;
		expect(new Set(requests).size).toBe(2);
		const [toldThem, toldMe] = [follower(), follower()];
		theirs.follow('1', toldThem);
		mine.follow('1', toldMe);
		sockets[0]!.send(status('1', 5));
		await toldThem.has(1);
		sockets[1]!.send(status('1', 6));
		expect(await toldMe.has(1)).toEqual([6]);
		expect(toldThem.heard).toEqual([5]);
	});

	it('closes with the last who listens, and not before', async () => {
		const first = listen();
		const second = listen();
		await first.ready;
		const over = closed(sockets[0]!);
		first.release();
		first.release();
		const told = follower();
		second.follow('1', told);
		sockets[0]!.send(status('1', 7));
		expect(await told.has(1)).toEqual([7]);
		second.release();
		await over;
		expect(second.isOpen()).toBe(false);
	});

	it('is opened anew for whoever listens after it was closed', async () => {
		const first = listen();
		await first.ready;
		const over = closed(sockets[0]!);
		first.release();
		const second = listen();
		await second.ready;
		await over;
		expect(second.isOpen()).toBe(true);
		expect(requests.length).toBe(2);
	});

	it('is given up at once when the last one leaves before the handshake is answered', async () => {
		mode = 'hang';
		const asked = once(server, 'asked');
		const subscription = listen();
		await asked;
		// Some Nodes then hold another connection for seconds, on which they send nothing.
		const [connection] = [...connections] as [Duplex];
		const gone = once(connection, 'close');
		const began = Date.now();
		subscription.release();
		await gone;
		// An answer is waited for three times as long.
		expect(Date.now() - began).toBeLessThan(5000);
		expect(requests.length).toBe(1);
	});

	it('holds nobody up where the other side ignores the closing', async () => {
		mode = 'deaf';
		const first = listen();
		await first.ready;
		expect(first.isOpen()).toBe(true);
		first.release();
		mode = 'accept';
		const second = listen();
		await second.ready;
		expect(second.isOpen()).toBe(true);
		expect(requests.length).toBe(2);
	});
});

describe('messages', () => {
	it('reach those who follow the task, and nobody else', async () => {
		const subscription = listen();
		await subscription.ready;
		const [mine, mineToo, other] = [follower(), follower(), follower()];
		subscription.follow('1', mine);
		listen().follow('1', mineToo);
		subscription.follow('2', other);
		for (const message of [status('1', 21), status('3', 50), status('1', 43), status('2', 100)]) {
			sockets[0]!.send(message);
		}
		expect(await other.has(1)).toEqual([100]);
		expect(mine.heard).toEqual([21, 43]);
		expect(mineToo.heard).toEqual([21, 43]);
	});

	it('find their task whether its id is a number or a text', async () => {
		const subscription = listen();
		await subscription.ready;
		const told = follower();
		subscription.follow('1204871', told);
		sockets[0]!.send(status(1204871, 57));
		expect(await told.has(1)).toEqual([57]);
	});

	it('that came before anybody followed the task are delivered then, the highest of them', async () => {
		const subscription = listen();
		await subscription.ready;
		const marker = follower();
		subscription.follow('marker', marker);
		for (const message of [
			status('1', 43),
			status('1', 93),
			status('1', 71),
			status('marker', 1),
		]) {
			sockets[0]!.send(message);
		}
		await marker.has(1);
		const told = follower();
		subscription.follow('1', told);
		expect(told.heard).toEqual([93]);
	});

	it('that came before anybody followed the task include one without a percentage', async () => {
		const subscription = listen();
		await subscription.ready;
		const marker = follower();
		subscription.follow('marker', marker);
		sockets[0]!.send(status('1'));
		sockets[0]!.send(status('marker', 1));
		await marker.has(1);
		const told = follower();
		subscription.follow('1', told);
		expect(told.heard).toEqual([undefined]);
	});

	it('are found among anything else that comes', async () => {
		const subscription = listen();
		await subscription.ready;
		const told = follower();
		subscription.follow('1', told);
		const noise = ['', 'hello', '<html></html>', '{"type":', '[]', 'null', '{"type":"ping"}'];
		for (const message of noise) sockets[0]!.send(message);
		sockets[0]!.send(Buffer.from([0xff, 0xfe, 0x00]));
		sockets[0]!.send(status('1', 250));
		sockets[0]!.send(Buffer.from(status('1', 99)));
		expect(await told.has(2)).toEqual([100, 99]);
	});

	it('are not delivered to one who has left', async () => {
		const first = listen();
		const second = listen();
		await first.ready;
		const [gone, stays] = [follower(), follower()];
		first.follow('1', gone);
		second.follow('1', stays);
		first.release();
		first.follow('1', gone);
		sockets[0]!.send(status('1', 43));
		await stays.has(1);
		expect(gone.heard).toEqual([]);
	});
});

describe('a socket that is lost', () => {
	it('is opened again within moments, those who follow are told, and messages go on', async () => {
		const subscription = listen();
		await subscription.ready;
		const told = follower();
		subscription.follow('1', told);
		const again = once(server, 'opened');
		const began = Date.now();
		sockets[0]!.terminate();
		expect(await told.has(1)).toEqual(['change']);
		expect(subscription.isOpen()).toBe(false);
		await again;
		expect(Date.now() - began).toBeLessThan(10_000);
		await told.has(2);
		expect(subscription.isOpen()).toBe(true);
		sockets[1]!.send(status('1', 71));
		expect(await told.has(3)).toEqual(['change', 'change', 71]);
	});

	it('is opened again also when the service closed it in good order', async () => {
		const subscription = listen();
		await subscription.ready;
		const again = once(server, 'opened');
		sockets[0]!.close(1001, 'going away');
		await again;
		expect(sockets.length).toBe(2);
	});

	it('holds nobody up who comes meanwhile', async () => {
		const first = listen();
		await first.ready;
		const told = follower();
		first.follow('1', told);
		mode = 'hang';
		sockets[0]!.terminate();
		await told.has(1);
		const began = Date.now();
		const second = listen();
		await second.ready;
		expect(Date.now() - began).toBeLessThan(2500);
		expect(second.isOpen()).toBe(false);
	});

	it('is not opened again once nobody listens', async () => {
		const subscription = listen();
		await subscription.ready;
		const told = follower();
		subscription.follow('1', told);
		sockets[0]!.terminate();
		await told.has(1);
		subscription.release();
		await new Promise((resolve) => setTimeout(resolve, 1300));
		expect(requests.length).toBe(1);
	});
});

describe('a good socket that is lost', () => {
	beforeEach(() => {
		jest.useFakeTimers({
			doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'hrtime'],
		});
	});
	afterEach(() => jest.useRealTimers());

	/** Somebody who listens on an open socket. */
	async function begin() {
		const subscription = listen();
		await subscription.ready;
		const told = follower();
		subscription.follow('1', told);
		return told;
	}
	/** Ends the newest socket, and resolves once that was noticed. */
	async function cut(told: ReturnType<typeof follower>) {
		const before = told.heard.length;
		sockets.at(-1)!.terminate();
		await told.has(before + 1);
	}
	/** The next handshake, that must come within so many milliseconds. */
	async function within(ms: number) {
		const again = once(server, 'opened');
		await jest.advanceTimersByTimeAsync(ms);
		await again;
	}

	it('is opened again within 300 ms when it had delivered anything, time after time', async () => {
		const told = await begin();
		for (let time = 1; time <= 10; time++) {
			sockets.at(-1)!.send(status('1', time));
			await told.has(3 * time - 2);
			await cut(told);
			await within(300);
			await told.has(3 * time);
		}
		expect(requests.length).toBe(11);
	});

	it('is opened again within 300 ms when it had stood for ten seconds', async () => {
		const told = await begin();
		await jest.advanceTimersByTimeAsync(10_100);
		await cut(told);
		await within(300);
	});

	it('is opened again more and more rarely while the service goes on to refuse', async () => {
		const told = await begin();
		sockets[0]!.send(status('1', 5));
		await told.has(1);
		mode = 'refuse';
		await cut(told);
		const times: number[] = [];
		server.on('asked', () => times.push(Date.now()));
		for (let step = 0; step < 200; step++) {
			await jest.advanceTimersByTimeAsync(50);
			await new Promise((resolve) => setImmediate(resolve));
		}
		expect(times.length).toBeGreaterThan(2);
		// At 0, 0.5, 1.5, 3.5 and 7.5 s at most; after a 401 Node tries each once more by itself.
		expect(times.length).toBeLessThanOrEqual(10);
	});

	it('is opened again with a pause when it brought nothing of the service', async () => {
		const told = await begin();
		sockets[0]!.send('{"error":"nothing for you"}');
		await cut(told);
		await jest.advanceTimersByTimeAsync(450);
		expect(requests.length).toBe(1);
		await within(600);
	});

	it('is opened every two seconds when the service drops each after its first message', async () => {
		const told = await begin();
		const began = Date.now();
		for (let time = 1; time <= 20; time++) {
			sockets.at(-1)!.send(status('1', time));
			await told.has(3 * time - 2);
			await cut(told);
			const again = once(server, 'opened');
			let isOpen = false;
			void again.then(() => (isOpen = true));
			while (!isOpen) {
				await jest.advanceTimersByTimeAsync(50);
				await new Promise((resolve) => setImmediate(resolve));
			}
			await told.has(3 * time);
		}
		expect(Date.now() - began).toBeGreaterThan(18_000);
	});
});

describe('a socket that cannot be had', () => {
	it('holds nothing up beyond 3 s where the handshake is never answered', async () => {
		mode = 'hang';
		const began = Date.now();
		const subscription = listen();
		await subscription.ready;
		const waited = Date.now() - began;
		expect(waited).toBeGreaterThan(2500);
		expect(waited).toBeLessThan(10_000);
		expect(subscription.isOpen()).toBe(false);
	});

	it('holds nothing up where it is refused, and is asked for again later', async () => {
		mode = 'refuse';
		const began = Date.now();
		const subscription = listen();
		await subscription.ready;
		expect(Date.now() - began).toBeLessThan(2500);
		expect(subscription.isOpen()).toBe(false);
		mode = 'accept';
		await once(server, 'opened');
		const told = follower();
		subscription.follow('1', told);
		sockets[0]!.send(status('1', 5));
		await told.has(1);
		expect(subscription.isOpen()).toBe(true);
	});

	it('holds nothing up where nobody is at the address', async () => {
		const free = createServer().listen(0, '127.0.0.1');
		await once(free, 'listening');
		const nobody = `ws://127.0.0.1:${(free.address() as AddressInfo).port}`;
		free.close();
		await once(free, 'close');
		const subscription = listenTo(
			readCredential({ apiToken: token, baseUrl: 'https://x', webSocketUrl: nobody }),
			async () => {},
		);
		await subscription.ready;
		expect(subscription.isOpen()).toBe(false);
		subscription.release();
	});

	it('is not asked for where the policy of the instance forbids it, nor is the token shown', async () => {
		const checked: string[] = [];
		const subscription = listen(token, async (...urls: unknown[]) => {
			checked.push(String(urls[0]));
			throw new Error('forbidden');
		});
		await subscription.ready;
		expect(subscription.isOpen()).toBe(false);
		expect(requests).toEqual([]);
		expect(checked).toEqual([`ws://127.0.0.1:${port}/ws`]);
	});

	it('is nothing to wait for where the runtime has none', async () => {
		const own = globalThis.WebSocket;
		try {
			Reflect.deleteProperty(globalThis, 'WebSocket');
			const subscription = listen();
			await subscription.ready;
			subscription.follow('1', follower());
			expect(subscription.isOpen()).toBe(false);
			subscription.release();
		} finally {
			globalThis.WebSocket = own;
		}
		expect(requests).toEqual([]);
	});
});

describe('a socket that is silent', () => {
	// Only timers are faked: the sockets are real.
	const fake = () =>
		jest.useFakeTimers({
			doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'hrtime'],
		});
	afterEach(() => jest.useRealTimers());

	it('is found out after 60 s, and another takes its place', async () => {
		fake();
		const subscription = listen();
		await subscription.ready;
		const over = closed(sockets[0]!);
		await jest.advanceTimersByTimeAsync(59_000);
		expect(requests.length).toBe(1);
		const again = once(server, 'opened');
		await jest.advanceTimersByTimeAsync(1000);
		await Promise.all([again, over]);
		expect(requests.length).toBe(2);
	});

	it('is left alone as long as anything comes', async () => {
		fake();
		const subscription = listen();
		await subscription.ready;
		const told = follower();
		subscription.follow('1', told);
		for (let round = 1; round <= 4; round++) {
			await jest.advanceTimersByTimeAsync(50_000);
			sockets[0]!.send('anything');
			sockets[0]!.send(status('1', round));
			await told.has(round);
		}
		expect(requests.length).toBe(1);
	});

	it('still delivers until the one that takes its place is there, and nobody is told', async () => {
		fake();
		const subscription = listen();
		await subscription.ready;
		const told = follower();
		subscription.follow('1', told);
		mode = 'hang';
		const asked = once(server, 'asked');
		await jest.advanceTimersByTimeAsync(60_000);
		await asked;
		sockets[0]!.send(status('1', 43));
		expect(await told.has(1)).toEqual([43]);
		expect(subscription.isOpen()).toBe(true);
	});

	it('is given up when no other takes its place', async () => {
		fake();
		const subscription = listen();
		await subscription.ready;
		const told = follower();
		subscription.follow('1', told);
		const over = closed(sockets[0]!);
		mode = 'hang';
		await jest.advanceTimersByTimeAsync(60_000);
		await jest.advanceTimersByTimeAsync(15_000);
		await over;
		expect(await told.has(1)).toEqual(['change']);
		expect(subscription.isOpen()).toBe(false);
	});
});
