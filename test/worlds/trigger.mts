import { n8nWorkflow } from '../../demo/n8n.mts';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';
import { clock, runAs, SECOND } from './clock.mts';
import { note } from './ledger.mts';
import { CALLED, credential, givenOf, type N8n } from './n8n.mts';
import { effect } from './network.mts';
import type { Service } from './service.mts';
import type { Execution, Trigger } from './world.mts';

/** How long n8n takes to store an execution, in ms. */
const STORED_MS = 20;
/** What starts itself does so for ever. */
const MOST_CALLS = 6;
const CALL = {
	...{ id: 'call', name: 'Call', type: 'n8n-nodes-base.executeWorkflow' },
	parameters: { workflowId: { __rl: true, mode: 'id', value: CALLED } },
} as const;

type Mode = 'activate' | 'update' | 'init';
type Refusal = Error & { description?: string };
/** One activation, from its attempts to its end. */
type Life = { close?(): Promise<unknown> };

/** Kills a process; runs an execution to its end. */
type Acts = { kill(process: N8n): void; begin(plan: Execution, name: string): Promise<void> };

/** A workflow with a trigger, in the process that `processOf` returns, and what n8n knows of it. */
export function publicationOf(
	service: Service,
	processOf: () => N8n,
	{ kill, begin }: Acts,
	plan: Trigger,
) {
	const { name: trigger, events, download, tasks, isOld, refusal, death, again, called } = plan;
	/** The keys of the executions in n8n's database. */
	const keys = new Set<string>();
	let emissions = 0;
	let calls = 0;
	let saved = {};
	/** The one that counts; undefined: it is not published. */
	let current: Life | undefined;

	/** Activates it. If it is refused, a person tries until it works, n8n itself five times. */
	async function publish(mode: Mode): Promise<void> {
		const life = (current = {});
		const isPerson = mode === 'activate';
		for (let tries = 1; tries <= 5 || isPerson; tries++) {
			if (life !== current || (await activate(mode, life))) return;
			await n8nWorkflow.sleep(isPerson ? 30 * SECOND : 2 ** tries * SECOND);
		}
	}

	async function close(next?: Life): Promise<void> {
		const last = current;
		current = next;
		note({ what: 'unpublished', trigger });
		await last?.close?.();
	}

	/** True if it listens, or is of no importance any more. */
	async function activate(activationMode: Mode, life: Life): Promise<boolean> {
		const process = processOf();
		if (process.isDead) return true;
		const taskIds = tasks.map(service.taskOf);
		const published = (error?: Refusal) => {
			const refused = error && `${error.message} ${error.description ?? ''}`;
			const wanted = { events, taskIds, download, isOld };
			note({ what: 'published', trigger, process: process.name, wanted, refused });
		};
		const staticData = structuredClone(saved);
		const save = () => {
			saved = JSON.parse(JSON.stringify(staticData));
			note({ what: 'saved', trigger, text: JSON.stringify(staticData) });
		};
		type Emit = Parameters<typeof activateTrigger>[1];
		// Four parameters tell the trigger that this n8n drops duplicates.
		const emit: Emit = (output, _response, ending, key) => {
			const start = () => {
				if (isRefusing()) return ending?.reject(new Error('SQLITE_BUSY: database is locked'));
				const isNew = !keys.has(key!);
				keys.add(key!);
				note({ what: 'started', trigger, key: key!, isNew, given: givenOf(output[0]![0]!) });
				if (!isNew) return ending?.reject(new Error('There is no active execution'));
				void run().then(() => ending?.resolve({} as never));
			};
			effect({ process }, () => {
				note({
					what: 'emitted',
					trigger,
					process: process.name,
					key: key!,
					event: String(output[0]![0]!.json.event),
				});
				save();
				clock.after(STORED_MS, () => effect({ process }, start));
				if (++emissions === death?.emission) clock.after(death.ms, () => kill(process));
			});
		};
		const emitOld: Emit = (output, response, ending) =>
			emit(output, response, ending, `emission ${emissions}`);
		const isCurrent = () => life === current && !process.isDead;
		const fail = (error: Error) => {
			if (!isCurrent()) return;
			published(error);
			void close({}).then(async () => await publish('update'));
		};
		const nodes = [triggerNode({ events, taskIds: taskIds.join(), download })];
		if (called) nodes.push({ ...nodes[0]!, ...CALL });
		const { loader } = process;
		const setting = { workflowId: trigger, nodes, credential, activationMode, staticData, loader };
		const active = runAs({ process }, () =>
			activateTrigger(setting, isOld ? emitOld : emit, fail),
		)!;
		const answer = await active.catch((error: Refusal) => error);
		const isRefused = answer instanceof Error;
		const end = async () =>
			await runAs({ process }, async () => isRefused || (await answer.closeFunction?.()));
		if (!isCurrent()) return (await end(), true);
		published(isRefused ? answer : undefined);
		if (isRefused) return false;
		life.close = end;
		save();
		return true;
	}

	/** What follows the trigger, to its end. */
	async function run(): Promise<void> {
		if (!called || calls >= MOST_CALLS) return await n8nWorkflow.sleep(SECOND);
		const name = `call ${calls++}`;
		const items = called.items.map((text) => `${name}: ${text}`);
		await begin({ ...called, items }, name);
	}

	const isRefusing = () =>
		refusal && clock.now >= refusal.at && clock.now < refusal.at + refusal.forMs;
	if (refusal)
		clock.after(refusal.at, () => {
			note({ what: 'fault', kind: 'n8n', ends: refusal.at + refusal.forMs });
		});

	/** Publishes it again, as a person does who has changed it. */
	async function publishAnew(): Promise<void> {
		// A person can't publish what is being published.
		if (!current?.close) return;
		await close({});
		await publish('activate');
	}
	let times = again?.times ?? 0;
	service.endings.push(() => {
		if (current && times-- > 0) clock.after(again!.ms, () => void publishAnew());
	});
	for (const at of plan.turns) clock.after(at, () => void turn());
	/** Publishes it as a person does, or unpublishes it if it is published. */
	async function turn(isNext = !current): Promise<void> {
		if (isNext !== Boolean(current)) await (isNext ? publish('activate') : close());
	}

	return {
		turn,
		close: async () => await close(current && {}),
		/** As n8n does when it starts. */
		publishAgain: () => current && void publish('init'),
	};
}
