import assert from 'node:assert/strict';
import type { Upgrades } from '../service/fakeService.mts';
import { row, SPEAK, type Row } from './row.mts';

/** A proxy in front of the service does this to WebSockets. */
const upgraded =
	(upgrades: Upgrades): Row['make'] =>
	async (stage) => {
		(await stage.front()).upgrades = upgrades;
	};

const BLOCKED: Array<[how: string, make: Row['make']]> = [
	['403', ({ sim }) => sim.setWebSocketMode('refuse')],
	['200 with a page', upgraded('page')],
	['the handshake is never answered', ({ sim }) => sim.setWebSocketMode('hang')],
];

const sockets: Row[] = [
	...BLOCKED.map(([how, make]) =>
		row(`A proxy blocks WebSockets (${how})`, [SPEAK], {
			service: { pace: 0.2 },
			make,
			hints: "WebSocket of the service could not be used…Check 'WebSocket URL'",
			note: 'the task is looked up every `Poll Interval` seconds',
		}),
	),
	row('The WebSocket is half open: it stays, and nothing arrives any more', [SPEAK], {
		make: upgraded('deaf'),
		note: 'found by looking it up; as its closing is not answered either, one such connection per account is left',
	}),
	row('The WebSocket is dropped again and again', [SPEAK], {
		service: { pace: 0.1 },
		during: async ({ sim }) => {
			const isOver = () => [...sim.tasks.values()].some(({ audioUrl }) => audioUrl);
			for (let drops = 1; drops <= 3 && !isOver(); drops++) {
				await sim.waitFor(() => sim.socketsEver >= drops, 5000).catch(() => {});
				sim.dropSockets();
			}
		},
	}),
	row('The WebSocket says nothing about the task', [SPEAK], {
		setting: { text: 'Quiet [sim:silent-socket]' },
	}),
	row('The WebSocket brings everything but messages about tasks', [SPEAK], {
		service: { pace: 0.1 },
		during: async ({ sim }) => {
			await sim.waitFor(() => sim.sockets() === 1 && sim.tasks.size === 1);
			for (const junk of ['', '{', 'null', '[[]]', '"x"', Buffer.from([0xff, 0, 1]), { type: 1 }]) {
				sim.push(junk);
			}
			sim.push({ type: 'labs_status_updated', payload: null });
			sim.push({ type: 'labs_status_updated', payload: { task_id: {}, process_percentage: [] } });
			sim.push(`"${'x'.repeat(4 << 20)}"`);
		},
	}),
	row('10,000 progress messages a second', [SPEAK], {
		service: { pace: 0.3 },
		during: async ({ sim }) => {
			await sim.waitFor(() => sim.sockets() === 1 && sim.tasks.size === 1);
			const [taskId] = [...sim.tasks.keys()] as [string];
			for (let batch = 0; batch < 20 && sim.sockets() > 0; batch++) {
				for (let n = 0; n < 500; n++) {
					const id = n % 2 === 0 ? taskId : `other-${batch}-${n}`;
					const payload = { task_id: id, process_percentage: n % 100 };
					sim.push({ type: 'labs_status_updated', payload });
				}
				await new Promise((resolve) => setTimeout(resolve, 50));
			}
		},
		note: 'no percentage is reported twice',
		check: ({ messages }) => {
			const told = messages.filter((text) => / %$/.test(text));
			assert.equal(new Set(told).size, told.length, told.join());
		},
	}),
];

export const SOCKETS = [{ title: 'WebSocket', rows: sockets }];
