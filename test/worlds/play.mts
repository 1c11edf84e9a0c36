import { createRequire } from 'node:module';
import type { IRun } from 'n8n-workflow';
import { runWorkflow } from '../../demo/engine.mts';
import { Clock, runAs, type Who, whoRuns } from './clock.mts';
import { execute, type Running, workflowOf } from './executions.mts';
import type { Fact, Line } from './ledger.mts';
import { type N8n, startProcess } from './n8n.mts';
import { connect } from './network.mts';
import { Service } from './service.mts';
import { Publication } from './triggers.mts';
import type { Execution, World } from './world.mts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const require = createRequire(import.meta.url);
const nearCore = createRequire(require.resolve('n8n-core'));
const { Container } = nearCore('@n8n/di') as { Container: { get(type: unknown): object } };
const { Logger } = nearCore('@n8n/backend-common') as { Logger: unknown };

/** One world on its way: its time, its service, its processes of n8n, and what is noted. */
export class Stage {
	readonly clock: Clock;
	readonly service: Service;
	readonly lines: Line[] = [];
	/** How often a process has done something to the world, or the world to it. */
	effects = 0;
	readonly underWay = new Set<Running>();
	/** The keys of the executions in n8n's database. */
	readonly keys = new Set<string>();
	private readonly failed: Array<Running & { retryOf: IRun }> = [];
	private readonly processes: N8n[] = [];
	private readonly triggers: Publication[];
	private readonly world: World;
	private attempts = 0;

	constructor(world: World) {
		this.world = world;
		this.clock = new Clock(world.seed);
		this.service = new Service(world, this.clock, this.note);
		this.triggers = world.triggers.map((plan, index) => new Publication(this, plan, index));
	}

	/** From the first execution to the last timer. */
	async play(): Promise<void> {
		const { clock } = this;
		connect(clock, this.service, this.effect);
		Object.assign(Container.get(Logger), this.logger());
		try {
			this.schedule();
			// By then all that is planned has begun, and every fault that ends has ended.
			await clock.pass(70 * MINUTE);
			for (let retries = 0; retries <= 3; retries++) {
				for (const { plan, name, retryOf } of this.failed.splice(0))
					this.begin({ ...plan, process: retries % 2 }, `${name} again`, retryOf);
				// What waits longest does so for an hour, each time.
				await clock.pass(8 * HOUR, () => this.underWay.size === 0);
			}
			await clock.pass(15 * MINUTE);
			for (const trigger of this.triggers) void trigger.turn(false);
			await clock.pass(2 * MINUTE);
			this.note({ what: 'left', timers: clock.left(), ...this.service.open() });
		} finally {
			clock.restore();
		}
	}

	readonly note = (fact: Fact): void => {
		this.lines.push({ at: Math.round(this.clock.now), ...fact });
	};

	/** The process may be killed before and after. */
	readonly effect = (who: Who, act: () => void): void => {
		this.mayDie(who!);
		runAs(who, act);
		this.mayDie(who!);
	};

	private mayDie({ process }: NonNullable<Who>): void {
		if (process.isDead || ++this.effects !== this.world.kill) return;
		this.note({ what: 'killed', process: process.name });
		this.end(this.processes.indexOf(process as N8n));
	}

	async pause(ms: number): Promise<void> {
		await new Promise<void>((resolve) => this.clock.after(ms, resolve));
	}

	/** The process with this number, which is started if there is none. */
	processOf(index: number): N8n {
		return (this.processes[index] ??= startProcess(`n8n ${index}`, (context) => {
			const texts = context.getInputData().map(({ json }) => String(json.text));
			const execution = String(context.getWorkflow().name);
			this.note({ what: 'attempt', attempt: ++this.attempts, execution, texts });
			return this.attempts;
		}));
	}

	private schedule(): void {
		const { executions, triggers, others, restarts } = this.world;
		const { clock, service } = this;
		for (const [index, plan] of executions.entries())
			clock.after(plan.at, () => this.begin(plan, `execution ${index}`));
		for (const { at, kind, text } of others) clock.after(at, () => service.order(kind, text));
		for (const [index, { turns }] of triggers.entries())
			for (const at of turns) clock.after(at, () => void this.triggers[index]!.turn());
		for (const at of restarts) clock.after(at, () => void this.restart());
	}

	/** Begins an execution, or what n8n has kept of it, once its process lives. */
	private begin(plan: Execution, name: string, retryOf?: IRun): void {
		const process = this.processOf(plan.process);
		if (process.isDead)
			return void this.clock.after(6 * SECOND, () => this.begin(plan, name, retryOf));
		const running = { plan, name, process, retryOf };
		this.underWay.add(running);
		void execute(this, running).then((run) => {
			this.underWay.delete(running);
			if (run.status === 'error') this.failed.push({ ...running, retryOf: run });
		});
	}

	private end(index: number): void {
		const process = this.processOf(index);
		process.isDead = true;
		runAs(undefined, () => this.clock.after(5 * SECOND, () => this.startAgain(index)));
	}

	/** In good order: n8n waits for its executions. */
	private async restart(): Promise<void> {
		while (this.underWay.size > 0) await this.pause(MINUTE);
		for (const trigger of this.triggers) await trigger.close();
		await this.pause(2 * SECOND);
		if (this.underWay.size > 0) this.note({ what: 'killed', process: 'n8n 0' });
		if (!this.processOf(0).isDead) this.end(0);
	}

	/** n8n runs what was at work again, and publishes what was published. */
	private startAgain(index: number): void {
		this.note({ what: 'restarted', process: `n8n ${index}` });
		delete this.processes[index];
		for (const running of this.underWay) {
			if (!running.process.isDead) continue;
			this.underWay.delete(running);
			this.begin(running.plan, `${running.name} after a crash`);
		}
		for (const trigger of this.triggers)
			if (trigger.isWanted && index === 0) void trigger.publish('init');
	}

	private logger() {
		const log = (text: unknown, more: unknown = '') => {
			const { process } = whoRuns() ?? {};
			if (process?.isDead) return;
			const said = `${String(text)} ${JSON.stringify(more)}`;
			this.note({ what: 'said', process: process?.name ?? '', text: said });
		};
		const quiet = () => {};
		return { debug: quiet, info: log, warn: log, error: log, scoped: () => this.logger() };
	}
}

/** Plays a world to its end: what was noted, and how many effects there were. */
export async function play(world: World): Promise<{ lines: Line[]; effects: number }> {
	const stage = new Stage(world);
	await stage.play();
	return stage;
}

// What n8n does once, reading files, is done while time is real.
const { loader } = startProcess('warm', () => 0);
const { nodes, connections } = workflowOf({}, 'warm');
const file = { nodes: nodes.slice(0, 2), connections: { Start: connections.Start! } };
await runWorkflow({ workflow: file, credentials: {}, loader });
