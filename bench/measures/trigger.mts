import { setTimeout as pause } from 'node:timers/promises';
import { below, type Goal } from '../figures.mts';
import type { Setting } from '../setting.mts';
import { settled } from './settled.mts';

const TASKS = 200;
const A_SECOND = 1000;
const SECONDS = 20;
const TICK_MS = 50;
const GOAL = 0.3;

const percent = (share: number) => `${(share * 100).toFixed(0)} %`;

/** How much of one core n8n takes while messages of many tasks come to an active trigger. */
export async function measureTrigger(setting: Setting): Promise<Goal> {
	const arena = await setting.arena();
	const { n8n } = arena;
	const { token: apiToken, baseUrl } = setting.account('trigger').access;
	const data = { apiToken, baseUrl, webSocketUrl: '', allowHttp: false };
	const credential = await n8n.credential('mediaGenerationApi', data);
	await n8n.publish({
		name: 'trigger',
		nodes: [
			{
				id: 'trigger',
				name: 'Trigger',
				type: 'n8n-nodes-media-generation.mediaGenerationTrigger',
				typeVersion: 1,
				position: [0, 0],
				parameters: { events: ['completed'] },
				credentials: { mediaGenerationApi: credential },
			},
		],
		connections: {},
		settings: { executionOrder: 'v1' },
		output: 'Trigger',
	});
	await settled(n8n);
	const before = n8n.instance.processorSeconds();
	const began = Date.now();
	for (let sent = 0; sent < SECONDS * A_SECOND;) {
		const due = ((Date.now() - began) / 1000) * A_SECOND;
		for (; sent < due; sent++) {
			// Rising, and never at the end.
			const process_percentage = Math.floor((sent / (SECONDS * A_SECOND)) * 99);
			const payload = { task_id: `measured-${sent % TASKS}`, process_percentage };
			setting.simulator.push({ type: 'labs_status_updated', payload });
		}
		await pause(TICK_MS);
	}
	const share = (n8n.instance.processorSeconds() - before) / ((Date.now() - began) / 1000);
	await setting.leave(arena);
	return below(
		`share of one core while ${A_SECOND} messages a second of ${TASKS} tasks come to a trigger`,
		GOAL,
		share,
		percent,
	);
}
