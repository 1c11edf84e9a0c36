import { setTimeout as pause } from 'node:timers/promises';
import type { Simulator } from '../../simulator/simulator.mts';
import type { Instance } from '../../tools/n8n/instance.mts';
import { eventually } from '../../tools/n8n/executions.mts';

const MIB = 2 ** 20;
const LOOK_MS = 2500;
/** How many equal readings count as settled: a fresh n8n frees what its start took only after some 20 s. */
const LOOKS = 6;

/** The memory of an idle n8n in MiB, once it has stayed the same for a while. */
export async function settledMemory(instance: Instance): Promise<number> {
	const seen: number[] = [];
	return await eventually('the memory to settle', 90_000, async () => {
		await pause(LOOK_MS);
		seen.push(instance.memory() / MIB);
		const last = seen.slice(-LOOKS);
		const isSteady = Math.max(...last) - Math.min(...last) < 3;
		return seen.length > 2 * LOOKS && isSteady ? last.at(-1) : undefined;
	});
}

/** Messages about tasks: how many tasks, and how many messages about each, half of them repeated. */
export interface Hearsay {
	tasks: number;
	messagesEach: number;
	/** The share that completes; nothing more is heard of the others. */
	completing: number;
}

/** Under way at once: as many as an account could have. */
const AT_ONCE = 100;

/** Pushes messages as fast as they are handled; returns how many. */
export async function pushMessages(simulator: Simulator, hearsay: Hearsay): Promise<number> {
	const { tasks, messagesEach, completing } = hearsay;
	let pushed = 0;
	for (let first = 0; first < tasks; first += AT_ONCE) {
		const group = Array.from({ length: AT_ONCE }, (_, index) => {
			const isOver = index < completing * AT_ONCE;
			return addTask(simulator, `heard-${first + index}`, isOver);
		});
		for (let message = 1; message <= messagesEach; message++) {
			// Every second one repeats the percentage before it.
			const percentage = Math.round((Math.ceil(message / 2) / Math.ceil(messagesEach / 2)) * 100);
			for (const { id, status } of group) {
				const most = status === 'completed' ? 100 : 97;
				const payload = { task_id: id, process_percentage: Math.min(percentage, most) };
				simulator.push({ type: 'labs_status_updated', payload });
				pushed++;
			}
			await pause(0);
		}
		const completed = group.filter(({ status }) => status === 'completed');
		await simulator.waitFor(() => completed.every(({ reads }) => reads > 0), 60_000);
	}
	return pushed;
}

/** A task that the service seems to have had for long. */
export function addTask(simulator: Simulator, id: string, isOver: boolean) {
	const task = {
		id,
		token: simulator.token,
		input: 'Heard of',
		voiceId: '',
		modelId: 'labs_v3',
		settings: {},
		status: isOver ? ('completed' as const) : ('processing' as const),
		percentage: isOver ? 100 : 97,
		...(isOver ? { audioUrl: `${simulator.fileOrigin}/files/${id}.wav` } : {}),
		createdAt: new Date().toISOString(),
		reads: 0,
	};
	simulator.tasks.set(id, task);
	return task;
}
