import type { Socket } from 'node:net';
import fc from 'fast-check';
import { WebSocketServer, type WebSocket as ServerSocket } from 'ws';
import { subscribe } from '../../nodes/shared/speech/notifications';
import { readNotification } from '../../nodes/shared/parsing/responses';
import { readCredential } from '../../nodes/shared/http/credential';
import { anyBody, anyFigure, anyJson, anyText } from './arbitraries';
import { FakeService, type Upgrade } from '../service/fakeService.mts';
import { alwaysAsync } from './check';

/* What comes over the socket of the account. Jest fails a test that something escapes from. */

let service: FakeService;
let opened: Array<{ socket: ServerSocket; wire: Socket }>;
let count = 0;

beforeEach(async () => {
	opened = [];
	const acceptor = new WebSocketServer({ noServer: true });
	const accept: Upgrade = (request, wire, head) =>
		acceptor.handleUpgrade(request, wire, head, (socket) => {
			socket.on('error', () => {});
			opened.push({ socket, wire });
		});
	service = await FakeService.start((_, response) => void response.end(), accept);
});

afterEach(async () => await service.stop());

/** A share of a socket of its own, open. */
async function subscription() {
	const share = subscribe(
		readCredential({ apiToken: `token-${++count}`, baseUrl: service.url }),
		async () => {},
	);
	await share.ready;
	return { share, ...opened.at(-1)! };
}

const notification = fc
	.record({
		task_id: fc.oneof(fc.constantFrom<unknown>('1', 1, ' 1 ', '2', '__proto__', 'end'), anyFigure),
		process_percentage: fc.oneof(fc.integer({ min: -1, max: 101 }), anyFigure, anyJson),
	})
	.map((payload) => JSON.stringify({ type: 'labs_status_updated', payload }));
const frame = fc.record({
	bytes: fc.oneof(
		{ weight: 4, arbitrary: notification.map((text) => Buffer.from(text)) },
		{ weight: 2, arbitrary: anyBody.map((text) => Buffer.from(text)) },
		anyText.map((text) => Buffer.from(text)),
		fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
	),
	binary: fc.boolean(),
});

/** A text frame with other bytes than UTF-8 ends the socket; that is another test. */
const isText = ({ bytes, binary }: { bytes: Buffer; binary: boolean }) =>
	binary || Buffer.from(bytes.toString('utf8')).equals(bytes);

describe('whatever comes over the socket', () => {
	it('reaches those who follow a task when it is a message of that task, and nobody otherwise', async () => {
		await alwaysAsync(
			fc.array(frame.filter(isText), { maxLength: 20 }),
			{ normal: 60 },
			async (frames) => {
				const { share, socket } = await subscription();
				const heard: Array<number | undefined> = [];
				const all: Array<[string, number | undefined]> = [];
				share.follow('1', (news, percentage) => {
					if (news === 'progress' || news === 'outcome') heard.push(percentage);
				});
				share.followAll((taskId, percentage) => all.push([taskId, percentage]));
				const done = new Promise<void>((resolve) => {
					share.follow('the end', () => resolve());
				});
				for (const { bytes, binary } of frames) socket.send(bytes, { binary });
				socket.send(JSON.stringify({ type: 'labs_status_updated', payload: { id: 'the end' } }));
				await done;
				share.release();
				const sent = frames
					.map(({ bytes }) => readNotification(bytes.toString('utf8')))
					.filter((message) => message !== undefined);
				expect(all.slice(0, -1)).toEqual(sent.map((each) => [each.taskId, each.percentage]));
				expect(heard).toEqual(
					sent.filter(({ taskId }) => taskId === '1').map(({ percentage }) => percentage),
				);
			},
		);
	});

	it('does no harm when it is no WebSocket frame at all, and the socket is opened again', async () => {
		await alwaysAsync(
			fc.uint8Array({ minLength: 1, maxLength: 60 }),
			{ normal: 3 },
			async (bytes) => {
				const { share, wire } = await subscription();
				const changes: boolean[] = [];
				const back = new Promise<void>((resolve) => {
					share.follow('1', (news, percentage) => {
						expect(percentage).toBeUndefined();
						if (news === 'lost' || news === 'back') changes.push(news === 'back');
						if (news === 'back') resolve();
					});
				});
				wire.write(bytes);
				wire.end();
				await back;
				expect(changes).toEqual([false, true]);
				share.release();
			},
		);
	});
});
