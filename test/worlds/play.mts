import type { IRun } from 'n8n-workflow';
import { runWorkflow } from '../../demo/engine.mts';
import { n8nWorkflow, requireFromCore } from '../../demo/n8n.mts';
import { workflow } from '../faults/workflow.mts';
import { clock, MINUTE, type Process, runAs, SECOND, whoRuns } from './clock.mts';
import { ledger, type Line, note } from './ledger.mts';
import { execute, type N8n, type Running, startProcess, underWay } from './n8n.mts';
import { connect, open } from './network.mts';
import { serviceOf } from './service.mts';
import { publicationOf } from './trigger.mts';
import type { Execution, World } from './world.mts';

const logger = requireFromCore('@n8n/di').Container.get(
	requireFromCore('@n8n/backend-common').Logger,
);

/** Plays a world from its first execution to its last timer: what was noted, and how many effects there were. */
export async function play(world: World): Promise<{ lines: Line[]; effects: number }> {
	ledger.length = 0;
	underWay.clear();
	clock.start(world.seed);
	const service = serviceOf(world);
	const processes: N8n[] = [];
	const failed: Array<Running & { retryOf: IRun }> = [];
	/** How often a process has done something to the world, or the world to it. */
	let effects = 0;
	connect(service, (process: Process) => {
		if (!process.isDead && ++effects === world.kill) kill(process);
	});
	const kill = (process: Process) => {
		if (process.isDead) return;
		note({ what: 'killed', process: process.name });
		end(processes.indexOf(process as N8n));
	};
	/** The process with this number, which is started if there is none. */
	const processOf = (index = 0) => (processes[index] ??= startProcess(`n8n ${index}@${clock.now}`));
	const end = (index: number) => {
		processOf(index).isDead = true;
		for (const trigger of index === 0 ? triggers : []) void trigger.close();
		runAs(undefined, () => clock.after(5 * SECOND, () => startAgain(index)));
	};
	const triggers = world.triggers.map((plan) =>
		publicationOf(service, processOf, { kill, begin }, plan),
	);

	/** Begins an execution, or what n8n has kept of it, once its process lives. */
	async function begin(plan: Execution, name: string, retryOf?: IRun): Promise<void> {
		const process = processOf(plan.process);
		if (process.isDead) return void clock.after(6 * SECOND, () => void begin(plan, name, retryOf));
		const running = { plan, name, process, retryOf };
		underWay.add(running);
		const run = await execute(service, running);
		underWay.delete(running);
		if (run.status === 'error') failed.push({ ...running, retryOf: run });
	}

	/** In good order: n8n waits for its executions. */
	async function restart(): Promise<void> {
		for (const trigger of triggers) await trigger.close();
		while (underWay.size > 0) await n8nWorkflow.sleep(MINUTE);
		if (!processOf(0).isDead) end(0);
	}

	/** n8n runs what was at work again, and publishes what was published. */
	function startAgain(index: number): void {
		delete processes[index];
		for (const running of underWay) {
			if (!running.process.isDead) continue;
			underWay.delete(running);
			void begin(running.plan, `${running.name} after a crash`);
		}
		for (const trigger of index === 0 ? triggers : []) trigger.publishAgain();
	}

	const log = (text: unknown, more: unknown = '') => {
		const { process } = whoRuns() ?? {};
		const said = `${String(text)} ${JSON.stringify(more)}`;
		if (!process?.isDead) note({ what: 'said', process: process?.name ?? '', text: said });
	};
	Object.assign(logger, { debug() {}, info: log, warn: log, error: log, scoped: () => logger });
	for (const plan of world.executions) clock.after(plan.at, () => void begin(plan, plan.name));
	for (const { at, kind, text, ...order } of world.others)
		clock.after(at, () => service.make(kind, text, order));
	for (const at of world.restarts) clock.after(at, () => void restart());
	// By then all that is planned has begun, and every fault that ends has ended.
	await clock.pass(70 * MINUTE);
	for (let retries = 0; retries <= 3; retries++) {
		for (const { plan, name, retryOf } of failed.splice(0))
			void begin({ ...plan, process: retries % 2 }, `${name} again`, retryOf);
		// What waits longest does so for an hour, each time.
		await clock.pass(480 * MINUTE, () => underWay.size === 0);
	}
	await clock.pass(15 * MINUTE);
	for (const trigger of triggers) void trigger.turn(false);
	await clock.pass(2 * MINUTE);
	note({ what: 'left', timers: clock.left(), ...open() });
	return { lines: [...ledger], effects };
}

// What n8n does once, reading files, is done while time is real.
await runWorkflow({ workflow: workflow(), credentials: {}, loader: startProcess('warm').loader });
