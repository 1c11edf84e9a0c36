import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { WebSocketServer, type WebSocket as ServerSocket } from 'ws';
import type { NewsKind } from '../../nodes/shared/async/pollUntil';
import { subscribe as listenTo, type Subscription } from '../../nodes/shared/speech/notifications';
import { readCredential } from '../../nodes/shared/http/credential';
import { FakeService } from '../service/fakeService.mts';
import { fakeTime } from '../service/fakeTime.mts';

/** What the service does with the next handshakes. */
let mode: 'accept' | 'refuse' | 'hang';
let service: FakeService;
/** `asked` for a socket, and `opened` one. */
let events: EventEmitter;
let requests: string[];
/** The connection of the latest handshake. */
let connection: Socket;
let sockets: ServerSocket[];
let listenings: Subscription[];
let count = 0;
let token: string;

beforeEach(async () => {
	mode = 'accept';
	events = new EventEmitter();
	requests = [];
	sockets = [];
	listenings = [];
	token = `token/${++count}+`;
	const acceptor = new WebSocketServer({ noServer: true });
	const page = () => {};
	service = await FakeService.start(page, (request, socket, early) => {
		requests.push(request.url!);
		connection = socket;
		if (mode === 'refuse') socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n');
		if (mode === 'hang') socket.resume().on('end', () => socket.end());
		if (mode === 'accept') {
			acceptor.handleUpgrade(request, socket, early, (opened) => {
				sockets.push(opened);
				events.emit('opened');
			});
		}
		events.emit('asked');
	});
});

afterEach(async () => {
	jest.useRealTimers();
	for (const subscription of listenings) subscription.release();
	await service.stop();
});

function listen(apiToken = token, checkEgress = async () => {}) {
	const subscription = listenTo(readCredential({ apiToken, baseUrl: service.url }), checkEgress);
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
		follow: (news: NewsKind, percentage?: number) =>
			tell(news === 'lost' || news === 'back' ? 'change' : percentage),
		/** Resolves once so many things were heard. */
		async has(amount: number) {
			while (heard.length < amount) await new Promise<void>((resolve) => (wake = resolve));
			return heard;
		},
	};
}

/** Somebody who listens on an open socket. */
async function listening(apiToken = token): Promise<Subscription> {
	const subscription = listen(apiToken);
	await subscription.ready;
	return subscription;
}

/** The same, and what they are told of a task. */
async function following(taskId = '1') {
	const subscription = await listening();
	const told = follower();
	subscription.follow(taskId, told.follow);
	return { subscription, told };
}

const status = (task_id: unknown, process_percentage?: unknown) =>
	JSON.stringify({ type: 'labs_status_updated', payload: { task_id, process_percentage } });
/** Sends messages over the newest socket. */
const send = (...messages: string[]) => {
	for (const message of messages) sockets.at(-1)!.send(message);
};

/** Resolves once the other side of a socket has closed it. */
const closed = async (socket: ServerSocket | Socket) =>
	void (await once(socket as Socket, 'close'));

describe('the socket of an account', () => {
	it('is at /ws with the token, encoded', async () => {
		await listening('a+b/c=d&e');
		expect(requests).toEqual(['/ws?token=a%2Bb%2Fc%3Dd%26e']);
	});

	it('is one for all who listen', async () => {
		const all = [listen(), listen(), listen()];
		await Promise.all(all.map(async ({ ready }) => await ready));
		expect(all.map((one) => one.isOpen())).toEqual([true, true, true]);
		await listening();
		expect(requests.length).toBe(1);
	});

	it('is not shared with another account, nor are its messages', async () => {
		const [theirs, mine] = [await listening(`${token}-other`), await listening()];
		expect(new Set(requests).size).toBe(2);
		const [toldThem, toldMe] = [follower(), follower()];
		theirs.follow('1', toldThem.follow);
		mine.follow('1', toldMe.follow);
		sockets[0]!.send(status('1', 5));
		await toldThem.has(1);
		sockets[1]!.send(status('1', 6));
		expect(await toldMe.has(1)).toEqual([6]);
		expect(toldThem.heard).toEqual([5]);
	});

	it('closes with the last who listens, and not before', async () => {
		const [first, second] = [await listening(), listen()];
		const over = closed(sockets[0]!);
		first.release();
		first.release();
		const told = follower();
		second.follow('1', told.follow);
		sockets[0]!.send(status('1', 7));
		expect(await told.has(1)).toEqual([7]);
		second.release();
		await over;
		expect(second.isOpen()).toBe(false);
	});

	it('is opened anew for whoever listens after it was closed', async () => {
		const first = await listening();
		const over = closed(sockets[0]!);
		first.release();
		const second = await listening();
		await over;
		expect(second.isOpen()).toBe(true);
		expect(requests.length).toBe(2);
	});

	it('is given up at once when the last one leaves before the handshake is answered', async () => {
		mode = 'hang';
		const asked = once(events, 'asked');
		const subscription = listen();
		await asked;
		const gone = closed(connection);
		const began = Date.now();
		subscription.release();
		await gone;
		// An answer is waited for three times as long.
		expect(Date.now() - began).toBeLessThan(5000);
		expect(requests.length).toBe(1);
	});
});

describe('messages', () => {
	it.each<[string, unknown[], number | undefined]>([
		['the highest of them', [43, 93, 71], 93],
		['also without a percentage', [undefined], undefined],
	])('that came before anybody followed are delivered then: %s', async (_, percentages, latest) => {
		const { subscription, told: marker } = await following('marker');
		send(...percentages.map((percentage) => status('1', percentage)), status('marker', 1));
		await marker.has(1);
		const told = follower();
		subscription.follow('1', told.follow);
		expect(told.heard).toEqual([latest]);
	});

	it('are not delivered to one who has left', async () => {
		const { subscription: first, told: gone } = await following();
		const { told: stays } = await following();
		first.release();
		first.follow('1', gone.follow);
		send(status('1', 43));
		await stays.has(1);
		expect(gone.heard).toEqual([]);
	});
});

describe('a socket that is lost', () => {
	it('does not hold up whoever comes meanwhile', async () => {
		const { told } = await following();
		mode = 'hang';
		sockets[0]!.terminate();
		await told.has(1);
		const began = Date.now();
		const second = await listening();
		expect(Date.now() - began).toBeLessThan(2500);
		expect(second.isOpen()).toBe(false);
	});

	it('is not opened again once nobody listens', async () => {
		const { subscription, told } = await following();
		sockets[0]!.terminate();
		await told.has(1);
		subscription.release();
		await new Promise((resolve) => setTimeout(resolve, 1300));
		expect(requests.length).toBe(1);
	});
});

describe('a good socket that is lost', () => {
	beforeEach(() => void fakeTime());

	/** Ends the newest socket, and resolves once that was noticed. */
	async function cut(told: ReturnType<typeof follower>) {
		const before = told.heard.length;
		sockets.at(-1)!.terminate();
		await told.has(before + 1);
	}
	/** The next handshake, that must come within so many milliseconds. */
	async function within(ms: number) {
		const again = once(events, 'opened');
		await jest.advanceTimersByTimeAsync(ms);
		await again;
	}

	it('is opened again within half a second when it had delivered anything, time after time', async () => {
		const { told } = await following();
		for (let time = 1; time <= 10; time++) {
			send(status('1', time));
			await told.has(3 * time - 2);
			await cut(told);
			await within(500);
			await told.has(3 * time);
		}
		expect(requests.length).toBe(11);
	});

	it('is opened again at once when it had stood for ten seconds', async () => {
		const { told } = await following();
		await jest.advanceTimersByTimeAsync(10_100);
		await cut(told);
		await within(50);
	});

	it('is opened again more and more rarely while the service goes on to refuse', async () => {
		const { told } = await following();
		sockets[0]!.send(status('1', 5));
		await told.has(1);
		mode = 'refuse';
		await cut(told);
		const times: number[] = [];
		events.on('asked', () => times.push(Date.now()));
		for (let step = 0; step < 200; step++) {
			await jest.advanceTimersByTimeAsync(50);
			await new Promise((resolve) => setImmediate(resolve));
		}
		expect(times.length).toBeGreaterThan(2);
		// At 0, 0.5, 1.5, 3.5 and 7.5 s at most; after a 401 Node tries each once more by itself.
		expect(times.length).toBeLessThanOrEqual(10);
	});

	it('is opened again with a pause when it brought nothing of the service', async () => {
		const { told } = await following();
		sockets[0]!.send('{"error":"nothing for you"}');
		await cut(told);
		await jest.advanceTimersByTimeAsync(450);
		expect(requests.length).toBe(1);
		await within(600);
	});
});

describe('a socket that cannot be had', () => {
	it('holds nothing up beyond 3 s where the handshake is never answered', async () => {
		mode = 'hang';
		const began = Date.now();
		expect((await listening()).isOpen()).toBe(false);
		const waited = Date.now() - began;
		expect(waited).toBeGreaterThan(2500);
		expect(waited).toBeLessThan(10_000);
	});

	it('holds nothing up where it is refused, and is asked for again later', async () => {
		mode = 'refuse';
		const began = Date.now();
		const subscription = await listening();
		expect(Date.now() - began).toBeLessThan(2500);
		expect(subscription.isOpen()).toBe(false);
		mode = 'accept';
		await once(events, 'opened');
		const told = follower();
		subscription.follow('1', told.follow);
		sockets[0]!.send(status('1', 5));
		await told.has(1);
		expect(subscription.isOpen()).toBe(true);
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
		expect(checked).toEqual([`${service.url.replace('http', 'ws')}/ws`]);
	});

	it('is nothing to wait for where the runtime has none', async () => {
		const own = globalThis.WebSocket;
		try {
			Reflect.deleteProperty(globalThis, 'WebSocket');
			const { subscription } = await following();
			expect(subscription.isOpen()).toBe(false);
			subscription.release();
		} finally {
			globalThis.WebSocket = own;
		}
		expect(requests).toEqual([]);
	});
});

describe('a socket that is silent', () => {
	beforeEach(() => void fakeTime());

	it('is found out after 60 s, and another takes its place', async () => {
		await listening();
		const over = closed(sockets[0]!);
		await jest.advanceTimersByTimeAsync(59_000);
		expect(requests.length).toBe(1);
		const again = once(events, 'opened');
		await jest.advanceTimersByTimeAsync(1000);
		await Promise.all([again, over]);
		expect(requests.length).toBe(2);
	});

	it('is left alone as long as anything comes', async () => {
		const { told } = await following();
		for (let round = 1; round <= 4; round++) {
			await jest.advanceTimersByTimeAsync(50_000);
			sockets[0]!.send('anything');
			sockets[0]!.send(status('1', round));
			await told.has(round);
		}
		expect(requests.length).toBe(1);
	});

	it('still delivers until the one that takes its place is there, and nobody is told', async () => {
		const { subscription, told } = await following();
		mode = 'hang';
		const asked = once(events, 'asked');
		await jest.advanceTimersByTimeAsync(60_000);
		await asked;
		sockets[0]!.send(status('1', 43));
		expect(await told.has(1)).toEqual([43]);
		expect(subscription.isOpen()).toBe(true);
	});

	it('is given up when no other takes its place', async () => {
		const { subscription, told } = await following();
		const over = closed(sockets[0]!);
		mode = 'hang';
		await jest.advanceTimersByTimeAsync(60_000);
		await jest.advanceTimersByTimeAsync(15_000);
		await over;
		expect(await told.has(1)).toEqual(['change']);
		expect(subscription.isOpen()).toBe(false);
	});
});
