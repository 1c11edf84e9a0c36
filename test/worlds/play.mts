import { createRequire } from 'node:module';
import type { IDataObject, INode, INodeExecutionData, IRun } from 'n8n-workflow';
import {
	runWorkflow,
	startWorkflow,
	type WorkflowFile,
	type WorkflowResult,
} from '../../demo/engine.mts';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';
import { Clock, type Process, running } from './clock.mts';
import { type Given, Ledger } from './ledger.mts';
import { countAttemptsAnew, startProcess } from './n8n.mts';
import { connect } from './network.mts';
import { API, Service, TOKEN } from './service.mts';
import type { Execution, Trigger, World } from './world.mts';

const NODE = 'Media Generation';
const SECOND = 1000;
const HOUR = 3600 * SECOND;
const credential = { apiToken: TOKEN, baseUrl: API, webSocketUrl: '' };

const require = createRequire(import.meta.url);
const nearCore = createRequire(require.resolve('n8n-core'));
const { Container } = nearCore('@n8n/di') as { Container: { get(type: unknown): object } };
const { Logger } = nearCore('@n8n/backend-common') as { Logger: unknown };

type N8n = ReturnType<typeof startProcess>;

/** A trigger of the world, and what n8n knows of it. */
interface Published {
	plan: Trigger;
	name: string;
	saved: IDataObject;
	close?: () => Promise<unknown>;
	isWanted: boolean;
	/** Counts its activations: what an earlier one still does is of no importance. */
	life: number;
}

/** One world on its way. */
class Player {
	private readonly clock: Clock;
	readonly ledger: Ledger;
	private readonly service: Service;
	private readonly processes: N8n[] = [];
	private readonly triggers: Published[];
	/** The keys of the executions in n8n's database. */
	private readonly keys = new Set<string>();
	private underWay = 0;
	private readonly failed: Array<{ plan: Execution; name: string; run: IRun }> = [];
	private readonly unfinished: Array<{ process: N8n; runAgain: () => void }> = [];
	effects = 0;

	private readonly world: World;

	constructor(world: World) {
		this.world = world;
		this.clock = new Clock(world.seed);
		this.ledger = new Ledger(() => this.clock.now);
		this.service = new Service(world, this.clock, this.ledger);
		countAttemptsAnew();
		this.triggers = world.triggers.map((plan, index) => {
			return { plan, name: `trigger ${index}`, saved: {}, isWanted: false, life: 0 };
		});
	}

	async play(): Promise<void> {
		const { clock, service } = this;
		const disconnect = connect(clock, service, (process) => this.effect(process));
		Object.assign(Container.get(Logger), this.logger());
		try {
			this.schedule();
			await clock.pass(this.lastPlanned() + SECOND);
			// What waits longest does so for an hour, each time.
			const isOver = () => this.underWay === 0;
			await clock.pass(8 * HOUR, isOver);
			for (let again = 0; again < 3 && this.failed.length > 0 && this.underWay === 0; again++) {
				await clock.pass(SECOND);
				for (const { plan, name, run } of this.failed.splice(0)) {
					this.execute(plan, `${name} again`, this.process(plan.process), run);
				}
				await clock.pass(8 * HOUR, isOver);
			}
			await clock.pass(15 * 60 * SECOND);
			for (const trigger of this.triggers) await this.unpublish(trigger);
			await clock.pass(120 * SECOND);
			this.ledger.note({ what: 'left', timers: clock.left(), ...service.open() });
		} finally {
			disconnect();
			clock.restore();
		}
	}

	/** When the last of what was planned has begun, and every fault has ceased. */
	private lastPlanned(): number {
		const { executions, triggers, others, faults, restarts } = this.world;
		return Math.max(
			...executions.map(({ at }) => at),
			...triggers.flatMap(({ at, publishedAgainAt }) => [at, publishedAgainAt ?? 0]),
			...others.map(({ at }) => at),
			...faults.map(({ at = 0, forMs = 0 }) => (forMs < HOUR ? at + forMs : 0)),
			...restarts,
			0,
		);
	}

	private schedule(): void {
		const { clock, world, service } = this;
		world.executions.forEach((plan, index) => {
			const start = () => {
				if (this.processes[plan.process]?.isDead) clock.after(6 * SECOND, start);
				else this.execute(plan, `execution ${index}`, this.process(plan.process));
			};
			clock.after(plan.at, start);
		});
		for (const { at, operation, text } of world.others)
			clock.after(at, () => service.order(operation, text));
		for (const trigger of this.triggers) {
			const { at, unpublishedAt, publishedAgainAt } = trigger.plan;
			const publish = () => {
				trigger.isWanted = true;
				this.publish(trigger, 'activate');
			};
			clock.after(at, publish);
			if (unpublishedAt) clock.after(at + unpublishedAt, () => void this.unpublish(trigger));
			if (publishedAgainAt) clock.after(at + publishedAgainAt, publish);
		}
		for (const at of world.restarts) clock.after(at, () => void this.restart(0));
	}

	private process(index: number): N8n {
		return (this.processes[index] ??= startProcess(`n8n ${index}`, (attempt, context) => {
			this.ledger.note({
				what: 'attempt',
				attempt,
				execution: String(context.getWorkflow().name),
				texts: context.getInputData().map(({ json }) => String(json.text)),
			});
		}));
	}

	private effect(process: Process): void {
		if (process.isDead || ++this.effects !== this.world.kill) return;
		const index = this.processes.indexOf(process as N8n);
		process.isDead = true;
		this.ledger.note({ what: 'killed', process: process.name });
		this.service.forget(process);
		running.run(undefined, () => this.clock.after(5 * SECOND, () => this.startAgain(index)));
	}

	/** In good order: n8n waits for its executions. */
	private async restart(index: number): Promise<void> {
		if (this.underWay > 0)
			return void this.clock.after(60 * SECOND, () => void this.restart(index));
		const process = this.process(index);
		for (const trigger of this.triggers) await this.close(trigger);
		await new Promise<void>((resolve) => this.clock.after(2 * SECOND, resolve));
		if (this.underWay > 0) this.ledger.note({ what: 'killed', process: process.name });
		process.isDead = true;
		this.service.forget(process);
		this.startAgain(index);
	}

	private startAgain(index: number): void {
		this.ledger.note({ what: 'restarted', process: `n8n ${index}` });
		delete this.processes[index];
		const crashed = this.unfinished.splice(0).filter(({ process, runAgain }) => {
			return process.isDead || void this.unfinished.push({ process, runAgain });
		});
		for (const { runAgain } of crashed) runAgain();
		for (const trigger of this.triggers.filter(
			({ plan, isWanted }) => isWanted && plan.process === index,
		))
			this.publish(trigger, 'init');
	}

	/** Runs an execution, or what n8n has kept of it again. */
	private execute(plan: Execution, name: string, process: N8n, retryOf?: IRun): void {
		const { ledger, clock } = this;
		const { items, operation, options, onError, tries } = plan;
		const asked = { operation, items, options, onError, tries };
		ledger.note({ what: 'begun', execution: name, process: process.name, asked });
		this.underWay++;
		const input = items.map((text): INodeExecutionData => {
			const json = { text, id: operation === 'wait' ? this.taskOf(text) : '' };
			return /ingredients|frames/.test(operation) ? { json, binary: { data: PICTURE } } : { json };
		});
		const say = (text: string) =>
			ledger.note({ what: 'said', execution: name, process: process.name, text });
		let hasEnded = false;
		const end = () => {
			if (!hasEnded) this.underWay--;
			hasEnded = true;
		};
		if (process.isDead) return end();
		const runAgain = () => {
			if (hasEnded) return;
			end();
			this.execute(plan, `${name} after a crash`, this.process(plan.process));
		};
		this.unfinished.push({ process, runAgain });
		const whenOver = ({ run, error }: WorkflowResult) => {
			if (process.isDead) return;
			const runs = run.data.resultData.runData[NODE] ?? [];
			for (const { message } of runs.flatMap(({ hints }) => hints ?? [])) say(message);
			const rounds = run.data.resultData.runData.Rounds ?? [];
			const given = runs.flatMap(({ data }, round) =>
				(data?.main?.[0] ?? []).map((item) => {
					const from = (item.pairedItem as { item: number }).item;
					return givenOf(item, String(rounds[round]?.data?.main?.[0]?.[from]?.json.text));
				}),
			);
			const text = error && `${error.message} ${error.description ?? ''}`;
			ledger.note({ what: 'ended', execution: name, status: run.status, given, error: text });
			if (run.status === 'error') this.failed.push({ plan, name, run });
			end();
		};
		running.run({ process }, () => {
			const options = {
				workflow: workflowFor(plan, name),
				credentials: { mediaGenerationApi: credential },
			};
			const { loader } = process;
			void startWorkflow({ ...options, loader, input, mode: 'trigger', onMessage: say, retryOf })
				.then(({ finished, cancel }) => {
					if (plan.stopAfter !== undefined && !retryOf) {
						const stop = () => {
							if (!hasEnded) ledger.note({ what: 'stopped', execution: name });
							cancel();
						};
						running.run(undefined, () => clock.after(plan.stopAfter!, stop));
					}
					return finished;
				})
				.then(whenOver)
				.catch((error: Error) => {
					ledger.note({
						what: 'ended',
						execution: name,
						status: 'engine',
						given: [],
						error: error.stack,
					});
					end();
				});
		});
	}

	/** The task of this text, made by somebody else. */
	private taskOf(text: string): string {
		return (
			this.service.works.find((work) => work.text === text)?.id ?? this.service.order('speak', text)
		);
	}

	private publish(trigger: Published, mode: 'activate' | 'init' | 'update', tries = 1): void {
		const { ledger, clock } = this;
		const { name, plan } = trigger;
		// It is published when n8n is there again.
		if (this.processes[plan.process]?.isDead) return;
		const process = this.process(plan.process);
		const life = ++trigger.life;
		const staticData = structuredClone(trigger.saved);
		const about = { process: process.name, events: plan.events };
		const isCurrent = () => life === trigger.life && !process.isDead;
		const save = () => {
			trigger.saved = JSON.parse(JSON.stringify(staticData));
			ledger.note({ what: 'saved', trigger: name, text: JSON.stringify(trigger.saved) });
		};
		const setting = {
			workflowId: name,
			nodes: [triggerNode({ events: plan.events })],
			credential,
			activationMode: mode,
			staticData,
			loader: process.loader,
		};
		const emit: Parameters<typeof activateTrigger>[1] = (output, _response, ending, given) => {
			// Four parameters tell the trigger that this n8n drops duplicates.
			const key = given ?? '';
			this.effect(process);
			if (process.isDead) return;
			const item = output[0]?.[0];
			if (!item) return;
			const isNew = !this.keys.has(key);
			this.keys.add(key);
			ledger.note({ what: 'started', trigger: name, key, isNew, given: givenOf(item) });
			save();
			if (!isNew) return ending?.reject(new Error('There is no active execution'));
			clock.after(SECOND, () => ending?.resolve({} as IRun));
			this.effect(process);
		};
		const again = (error: Error, atRunTime: boolean) => {
			if (!isCurrent() || !trigger.isWanted) return;
			const text = `${error.message} ${(error as { description?: string }).description ?? ''}`;
			ledger.note({ what: 'published', trigger: name, ...about, refused: text });
			const isByPerson = mode === 'activate' && !atRunTime;
			// A person tries until it works; n8n tries five times by itself.
			if (tries >= 5 && !isByPerson) return ledger.note({ what: 'dead', trigger: name, text });
			const next = atRunTime ? 'update' : mode;
			clock.after(isByPerson ? 30 * SECOND : 2 ** tries * SECOND, () => {
				if (life === trigger.life && trigger.isWanted) this.publish(trigger, next, tries + 1);
			});
		};
		running.run({ process }, () => {
			activateTrigger(setting, emit, (error) => {
				if (!isCurrent()) return;
				again(error, true);
				void this.close(trigger);
			})
				.then(async ({ closeFunction }) => {
					if (!isCurrent()) return await closeFunction?.();
					trigger.close = async () =>
						await running.run({ process }, async () => await closeFunction?.());
					ledger.note({ what: 'published', trigger: name, ...about });
					save();
				})
				.catch((error: Error) => running.run(undefined, () => again(error, false)));
		});
	}

	private async unpublish(trigger: Published): Promise<void> {
		if (!trigger.isWanted) return;
		trigger.isWanted = false;
		trigger.life++;
		await this.close(trigger);
		this.ledger.note({ what: 'unpublished', trigger: trigger.name });
	}

	private async close(trigger: Published): Promise<void> {
		const { close } = trigger;
		trigger.close = undefined;
		await close?.();
	}

	private logger() {
		const log = (text: unknown, more?: unknown) => {
			const process = running.getStore()?.process.name ?? '';
			this.ledger.note({
				what: 'said',
				process,
				text: `${String(text)} ${more ? JSON.stringify(more) : ''}`,
			});
		};
		const quiet = () => {};
		return { debug: quiet, info: log, warn: log, error: log, scoped: () => this.logger() };
	}
}

/** Plays a world to its end: what was noted, and how many effects there were. */
export async function play(world: World): Promise<{ ledger: Ledger; effects: number }> {
	const player = new Player(world);
	await player.play();
	return player;
}

const PICTURE = {
	data: Buffer.from('\x89PNG\r\n\x1a\n picture', 'latin1').toString('base64'),
	mimeType: 'image/png',
};

function givenOf({ json, binary = {} }: INodeExecutionData, text = ''): Given {
	const bytes = Object.values(binary).map(({ data }) =>
		Buffer.from(data, 'base64').toString('latin1'),
	);
	const marks = bytes.flatMap((text) =>
		[...text.matchAll(/<(\w+-[\d-]+)>/g)].map(([, mark]) => mark!),
	);
	return { text, json, marks: [...new Set(marks)] };
}

function workflowFor(plan: Execution, name: string): WorkflowFile {
	const { operation, options, onError, tries, rounds, amount } = plan;
	const resource =
		{ speak: 'speech', wait: 'speech', create: 'image' }[operation as string] ?? 'video';
	const node = (label: string, type: string, more: Partial<INode>): INode => ({
		...{ id: label, name: label, type, typeVersion: 1, position: [0, 0], parameters: {} },
		...more,
	});
	const own = 'n8n-nodes-media-generation';
	const action = node(NODE, `${own}.mediaGeneration`, {
		parameters: {
			...{ resource, operation, download: true, numberOfVideos: amount },
			options: {
				...options,
				...(operation === 'framesToVideo' && { prompt: '={{ $json.text }}' }),
			},
			...{ text: '={{ $json.text }}', prompt: '={{ $json.text }}', taskId: '={{ $json.id }}' },
			voiceId: { __rl: true, mode: 'id', value: 'v1' },
			binaryPropertyName: 'data',
		} as INode['parameters'],
		credentials: { mediaGenerationApi: { id: '1', name: 'mediaGenerationApi' } },
		onError,
		...(tries > 1 ? { retryOnFail: true, maxTries: tries, waitBetweenTries: 1000 } : {}),
	});
	const to = (label: string) => ({ main: [[{ node: label, type: 'main' as const, index: 0 }]] });
	const loop = node('Rounds', `${own}.rounds`, { parameters: { rounds } });
	return {
		id: name.split(' ').slice(0, 2).join(' '),
		name,
		nodes: [node('Start', 'n8n-nodes-base.manualTrigger', {}), loop, action],
		connections: { Start: to('Rounds'), Rounds: to(NODE), [NODE]: to('Rounds') },
	};
}

// What n8n does once, reading files, is done while time is real.
const { loader } = startProcess('warm', () => {});
const { nodes, connections } = workflowFor({ rounds: 1 } as Execution, 'warm');
const file = { nodes: nodes.slice(0, 2), connections: { Start: connections.Start! } };
await runWorkflow({ workflow: file, credentials: {}, loader });
