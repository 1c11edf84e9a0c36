import type { WebSocketMode } from '../service/fakeService.mts';
import { row, SPEAK, type Row } from './row.mts';

/** Puts a proxy in front of the service that treats WebSockets like this. */
const withWebSocketMode =
	(mode: WebSocketMode): Row['make'] =>
	async (stage) => {
		(await stage.proxy()).webSocketMode = mode;
	};

const BLOCKED: Array<[how: string, make: Row['make']]> = [
	['403', ({ sim }) => sim.setWebSocketMode('refuse')],
	['200 with a web page', withWebSocketMode('page')],
	['the handshake is never answered', ({ sim }) => sim.setWebSocketMode('hang')],
];

const sockets: Row[] = [
	...BLOCKED.map(([how, make]) =>
		row(`A proxy blocks WebSockets (${how})`, [SPEAK], {
			service: { pace: 0.2 },
			make,
			hints: "WebSocket was not open…Check 'WebSocket URL'",
			note: 'the task is polled every **Poll Interval** seconds',
		}),
	),
	row('The WebSocket is half open: it stays open, but no more messages arrive', [SPEAK], {
		make: withWebSocketMode('deaf'),
		note: 'polling finds it; since the close frame is never answered, one such connection per account remains',
	}),
	row('The WebSocket is dropped again and again', [SPEAK], {
		service: { pace: 0.1 },
		during: async ({ sim }) => {
			const isOver = () => [...sim.tasks.values()].some(({ audioUrl }) => audioUrl);
			for (let drops = 1; drops <= 3 && !isOver(); drops++) {
				await sim.waitFor(() => sim.openedSocketCount >= drops, 5000).catch(() => {});
				sim.dropSockets();
			}
		},
	}),
	row('The WebSocket says nothing about the task', [SPEAK], {
		setting: { text: 'Quiet [sim:silent-socket]' },
	}),
	row('The WebSocket delivers everything except messages about tasks', [SPEAK], {
		service: { pace: 0.1 },
		during: async ({ sim }) => {
			await sim.waitFor(() => sim.countOpenSockets() === 1 && sim.tasks.size === 1);
			for (const junk of ['', '{', 'null', '[[]]', '"x"', Buffer.from([0xff, 0, 1]), { type: 1 }]) {
				sim.broadcast(junk);
			}
			sim.broadcast({ type: 'labs_status_updated', payload: null });
			sim.broadcast({
				type: 'labs_status_updated',
				payload: { task_id: {}, process_percentage: [] },
			});
			sim.broadcast(`"${'x'.repeat(4 << 20)}"`);
		},
	}),
];

export const SOCKETS = [{ title: 'WebSocket', rows: sockets }];
