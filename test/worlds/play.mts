import type { IRun } from 'n8n-workflow';
import { runWorkflow } from '../../demo/engine.mts';
import { n8nWorkflow, requireFromCore } from '../../demo/n8n.mts';
import { workflow } from '../faults/workflow.mts';
import { clock, MINUTE, type Process, runAs, SECOND, whoRuns } from './clock.mts';
import { recordedLines, type Line, record } from './trace.mts';
import { execute, type N8n, type Running, startProcess, runningExecutions } from './n8n.mts';
import { connect, countOpen } from './network.mts';
import { serviceOf } from './service.mts';
import { playTrigger } from './trigger.mts';
import type { Execution, World } from './world.mts';

const logger = requireFromCore('@n8n/di').Container.get(
	requireFromCore('@n8n/backend-common').Logger,
);

/** Plays a world from its first execution to its last timer. Resolves with its trace, and the number of effects. */
export async function play(world: World): Promise<{ lines: Line[]; effects: number }> {
	recordedLines.length = 0;
	runningExecutions.clear();
	clock.start(world.seed);
	const service = serviceOf(world);
	const processes: N8n[] = [];
	const failed: Array<Running & { retryOf: IRun }> = [];
	/** How many effects there have been (see `effect`). */
	let effects = 0;
	connect(service, (process: Process) => {
		if (!process.isDead && ++effects === world.kill) kill(process);
	});
	const kill = (process: Process) => {
		if (process.isDead) return;
		record({ what: 'killed', process: process.name });
		end(processes.indexOf(process as N8n));
	};
	/** Returns the process with this number. Starts it if there is none. */
	const processOf = (index = 0) => (processes[index] ??= startProcess(`n8n ${index}@${clock.now}`));
	const end = (index: number) => {
		processOf(index).isDead = true;
		for (const trigger of index === 0 ? triggers : []) void trigger.close();
		runAs(undefined, () => clock.after(5 * SECOND, () => startAgain(index)));
	};
	const triggers = world.triggers.map((plan) =>
		playTrigger(service, processOf, { kill, launch }, plan),
	);

	/** Begins an execution, or a retry of it. If its process is dead, waits until that is started again. */
	async function launch(plan: Execution, name: string, retryOf?: IRun): Promise<void> {
		const process = processOf(plan.process);
		if (process.isDead) return void clock.after(6 * SECOND, () => void launch(plan, name, retryOf));
		const running = { plan, name, process, retryOf };
		runningExecutions.add(running);
		const run = await execute(service, running);
		runningExecutions.delete(running);
		if (run.status === 'error') failed.push({ ...running, retryOf: run });
	}

	/** Restarts the first process in an orderly way: n8n closes the triggers and waits for its executions. */
	async function restart(): Promise<void> {
		for (const trigger of triggers) await trigger.close();
		while (runningExecutions.size > 0) await n8nWorkflow.sleep(MINUTE);
		if (!processOf(0).isDead) end(0);
	}

	/** Starts a process again. n8n runs its interrupted executions anew, and activates its published workflows. */
	function startAgain(index: number): void {
		delete processes[index];
		for (const running of runningExecutions) {
			if (!running.process.isDead) continue;
			runningExecutions.delete(running);
			void launch(running.plan, `${running.name} after a crash`);
		}
		for (const trigger of index === 0 ? triggers : []) trigger.onN8nStart();
	}

	const log = (text: unknown, more: unknown = '') => {
		const { process } = whoRuns() ?? {};
		const line = `${String(text)} ${JSON.stringify(more)}`;
		if (!process?.isDead) record({ what: 'shown', process: process?.name ?? '', text: line });
	};
	Object.assign(logger, { debug() {}, info: log, warn: log, error: log, scoped: () => logger });
	for (const plan of world.executions) clock.after(plan.at, () => void launch(plan, plan.name));
	for (const { at, kind, text, ...order } of world.others)
		clock.after(at, () => service.startJob(kind, text, order));
	for (const at of world.restarts) clock.after(at, () => void restart());
	// After this time, all that is planned has begun, and every fault that ends has ended.
	await clock.pass(70 * MINUTE);
	for (let retries = 0; retries <= 3; retries++) {
		for (const { plan, name, retryOf } of failed.splice(0))
			void launch({ ...plan, process: retries % 2 }, `${name} again`, retryOf);
		// An attempt waits an hour at most, and there may be several.
		await clock.pass(480 * MINUTE, () => runningExecutions.size === 0);
	}
	await clock.pass(15 * MINUTE);
	for (const trigger of triggers) void trigger.setPublished(false);
	await clock.pass(2 * MINUTE);
	record({ what: 'leftOpen', timers: clock.countTimers(), ...countOpen() });
	return { lines: [...recordedLines], effects };
}

// n8n reads some files when it first runs a workflow. It must do so while the time is real.
await runWorkflow({ workflow: workflow(), credentials: {}, loader: startProcess('warm').loader });
