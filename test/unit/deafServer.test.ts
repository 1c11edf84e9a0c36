import { createHash } from 'node:crypto';
import { subscribe, type Subscription } from '../../nodes/shared/speech/notifications';
import { readCredential } from '../../nodes/shared/http/credential';
import { FakeService, type Upgrade } from '../service/fakeService.mts';
import { fakeTime } from '../service/fakeTime.mts';

/* A service that never answers a close frame: the global WebSocket holds on to each connection for ever. */

/** One WebSocket as the server sees it. */
interface DeafConnection {
	/** The client has asked to close it. */
	isAsked: boolean;
	/** Sends a text of at most 125 bytes. */
	send(text: string): void;
	destroy(): void;
}

/** A service that delivers messages but never answers a close frame. */
async function startDeafServer() {
	const open: DeafConnection[] = [];
	let ever = 0;
	let changed = () => {};
	const accept: Upgrade = (request, socket) => {
		const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
		const answer = createHash('sha1').update(key).digest('base64');
		const connection: DeafConnection = {
			isAsked: false,
			send: (text) => socket.write(Buffer.from([0x81, text.length, ...Buffer.from(text)])),
			destroy: () => socket.destroy(),
		};
		socket.on('data', ([first]: Buffer) => {
			if (first === 0x88) connection.isAsked = true;
			changed();
		});
		socket.on('close', () => {
			open.splice(open.indexOf(connection), 1);
			changed();
		});
		ever++;
		open.push(connection);
		socket.write(
			`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${answer}\r\n\r\n`,
		);
		changed();
	};
	const service = await FakeService.start((_, response) => void response.end(), accept);
	return {
		url: service.url.replace('http', 'ws'),
		/** Connections that stand, oldest first. */
		open,
		ever: () => ever,
		/** Resolves once `holds`. */
		async until(holds: () => boolean) {
			while (!holds()) await new Promise<void>((resolve) => (changed = resolve));
		},
		close: async () => await service.stop(),
	};
}

let server: Awaited<ReturnType<typeof startDeafServer>>;
beforeEach(async () => {
	server = await startDeafServer();
});
afterEach(async () => {
	jest.useRealTimers();
	await server.close();
});

/** An execution that listens, from its beginning. */
async function begin(): Promise<Subscription> {
	const fields = { apiToken: 'token', baseUrl: 'https://x', webSocketUrl: server.url };
	const subscription = subscribe(readCredential(fields), async () => {});
	await subscription.ready;
	expect(subscription.isOpen()).toBe(true);
	return subscription;
}
const asked = () => server.open.filter(({ isAsked }) => isAsked).length;
const status = (task_id: string, process_percentage: number) =>
	JSON.stringify({ type: 'labs_status_updated', payload: { task_id, process_percentage } });

/** Resolves with what `listening` is told of a task first. */
const first = async (subscription: Subscription, taskId: string) =>
	await new Promise<number | undefined>((resolve) => {
		subscription.follow(taskId, (news, percentage) => {
			if (news === 'progress') resolve(percentage);
		});
	});

describe('a service that never answers the closing', () => {
	it('is left with one connection that was asked to close, and one for all to come', async () => {
		for (let run = 0; run < 5; run++) {
			const [one, other] = [await begin(), await begin()];
			const told = first(one, `task ${run}`);
			server.open.at(-1)!.send(status(`task ${run}`, run));
			expect(await told).toBe(run);
			one.release();
			other.release();
			await server.until(() => asked() === 1);
			// What the socket does of itself, it does before the next one listens.
			await new Promise((resolve) => setImmediate(resolve));
		}
		expect(server.ever()).toBe(2);
		expect(asked()).toBe(1);
	});

	it('has a silent socket replaced once, and again only when the first one is gone', async () => {
		fakeTime();
		const subscription = await begin();
		expect(subscription.isLive()).toBe(true);
		await jest.advanceTimersByTimeAsync(60_000);
		await server.until(() => asked() === 1);
		for (let minute = 0; minute < 5; minute++) await jest.advanceTimersByTimeAsync(60_000);
		expect(server.ever()).toBe(2);
		expect(subscription.isOpen()).toBe(true);
		expect(subscription.isLive()).toBe(false);
		const told = first(subscription, 'task');
		server.open[1]!.send(status('task', 5));
		expect(await told).toBe(5);
		expect(subscription.isLive()).toBe(true);
		await jest.advanceTimersByTimeAsync(60_000);
		server.open[0]!.destroy();
		await server.until(() => server.ever() === 3);
		subscription.release();
	});
});
