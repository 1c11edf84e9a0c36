import { setTimeout as pause } from 'node:timers/promises';
import type { Simulator } from '../../simulator/simulator.mts';
import type { Instance } from '../../tools/n8n/instance.mts';
import { freePort } from '../../tools/ports.mts';

const MIB = 2 ** 20;

/**
 * Starts n8n with a probe in its process: what is resident after a flood depends on when V8 next
 * collects its garbage, which may be minutes later. `inUse` is in MiB, without garbage.
 */
export async function startMeasured(instance: Instance): Promise<{ inUse(): Promise<number> }> {
	const port = await freePort();
	const probe = new URL('../../bench/probe.mts', import.meta.url).href;
	await instance.start({ NODE_OPTIONS: `--import=${probe}`, BENCH_PROBE_PORT: String(port) });
	return {
		async inUse() {
			const response = await fetch(`http://127.0.0.1:${port}/in-use`);
			return Number(await response.text()) / MIB;
		},
	};
}

const TASKS = 2000;
const MESSAGES_EACH = 50;
/** Under way at once: as many as an account could have. Of ten, one never ends. */
const AT_ONCE = 100;

/** Pushes 100,000 messages as fast as they are handled. */
export async function pushMessages(simulator: Simulator): Promise<void> {
	for (let first = 0; first < TASKS; first += AT_ONCE) {
		const group = Array.from({ length: AT_ONCE }, (_, index) =>
			addTask(simulator, `heard-${first + index}`, index % 10 > 0),
		);
		for (let message = 1; message <= MESSAGES_EACH; message++) {
			// Every second one repeats the percentage before it.
			const percentage = Math.ceil(message / 2) * (200 / MESSAGES_EACH);
			for (const { id, percentage: most } of group) {
				const payload = { task_id: id, process_percentage: Math.min(percentage, most) };
				simulator.push({ type: 'labs_status_updated', payload });
			}
			await pause(0);
		}
		const completed = group.filter(({ status }) => status === 'completed');
		await simulator.waitFor(() => completed.every(({ reads }) => reads > 0), 60_000);
	}
}

/** A task that the service seems to have had for long. */
function addTask(simulator: Simulator, id: string, isOver: boolean) {
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
