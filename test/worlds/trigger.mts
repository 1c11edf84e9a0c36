import { n8nWorkflow } from '../../demo/n8n.mts';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';
import { clock, runAs, SECOND } from './clock.mts';
import { CALLED, credential, type N8n, outputOf } from './n8n.mts';
import { effect } from './network.mts';
import type { Service } from './service.mts';
import { record } from './trace.mts';
import type { Execution, Trigger } from './world.mts';

/** How long n8n takes to store an execution, in ms. */
const STORE_MS = 20;
/** A workflow that starts itself would call its sub-workflow forever. */
const MAX_CALLS = 6;
const CALL = {
	...{ id: 'call', name: 'Call', type: 'n8n-nodes-base.executeWorkflow' },
	parameters: { workflowId: { __rl: true, mode: 'id', value: CALLED } },
} as const;

type Mode = 'activate' | 'update' | 'init';
type Refusal = Error & { description?: string };
/** One activation of the trigger. It has no `close` until n8n has activated it. */
type Activation = { close?(): Promise<unknown> };

/** What a trigger needs of the world: to kill a process, and to run an execution to its end. */
type Acts = { kill(process: N8n): void; launch(plan: Execution, name: string): Promise<void> };

/** Schedules all that happens to a workflow with a trigger. It runs in the process that `processOf` returns. */
export function playTrigger(
	service: Service,
	processOf: () => N8n,
	{ kill, launch }: Acts,
	plan: Trigger,
) {
	const { name: trigger, events, download, tasks, lacksDedupKeys } = plan;
	const { n8nOutage, crash, republish, subWorkflow } = plan;
	/** The deduplication keys of the executions in n8n's database. */
	const keys = new Set<string>();
	let emissions = 0;
	let calls = 0;
	/** The static data that n8n has saved. */
	let saved = {};
	/** The current activation; undefined while the workflow is not published. */
	let current: Activation | undefined;

	/** Activates the trigger. If it refuses, a person tries again until it works, but n8n only five times. */
	async function publish(mode: Mode): Promise<void> {
		const activation = (current = {});
		const isPerson = mode === 'activate';
		for (let tries = 1; tries <= 5 || isPerson; tries++) {
			if (activation !== current || (await activate(mode, activation))) return;
			await n8nWorkflow.sleep(isPerson ? 30 * SECOND : 2 ** tries * SECOND);
		}
	}

	async function close(next?: Activation): Promise<void> {
		const last = current;
		current = next;
		record({ what: 'unpublished', trigger });
		await last?.close?.();
	}

	/** Tries once to activate the trigger. Resolves with false if it should be tried again. */
	async function activate(activationMode: Mode, activation: Activation): Promise<boolean> {
		const process = processOf();
		if (process.isDead) return true;
		const taskIds = tasks.map(service.taskIdOf);
		const recordPublished = (error?: Refusal) => {
			const refused = error && `${error.message} ${error.description ?? ''}`;
			const settings = { events, taskIds, download, lacksDedupKeys };
			record({ what: 'published', trigger, process: process.name, settings, refused });
		};
		const staticData = structuredClone(saved);
		const save = () => {
			saved = JSON.parse(JSON.stringify(staticData));
			record({ what: 'saved', trigger, text: JSON.stringify(staticData) });
		};
		type Emit = Parameters<typeof activateTrigger>[1];
		// By the fourth parameter, the trigger knows that this n8n drops duplicates.
		const emit: Emit = (data, _response, ending, key) => {
			const item = data[0]![0]!;
			const start = () => {
				if (isN8nDown()) return ending?.reject(new Error('SQLITE_BUSY: database is locked'));
				const isNew = !keys.has(key!);
				keys.add(key!);
				record({ what: 'started', trigger, key: key!, isNew, output: outputOf(item) });
				if (!isNew) return ending?.reject(new Error('There is no active execution'));
				void run().then(() => ending?.resolve({} as never));
			};
			effect({ process }, () => {
				const event = String(item.json.event);
				record({ what: 'emitted', trigger, process: process.name, key: key!, event });
				save();
				clock.after(STORE_MS, () => effect({ process }, start));
				if (++emissions === crash?.emission) clock.after(crash.ms, () => kill(process));
			});
		};
		const emitWithoutKey: Emit = (data, response, ending) =>
			emit(data, response, ending, `emission ${emissions}`);
		const isCurrent = () => activation === current && !process.isDead;
		const fail = (error: Error) => {
			if (!isCurrent()) return;
			recordPublished(error);
			void close({}).then(async () => await publish('update'));
		};
		const nodes = [triggerNode({ events, taskIds: taskIds.join(), download })];
		if (subWorkflow) nodes.push({ ...nodes[0]!, ...CALL });
		const { loader } = process;
		const setting = { workflowId: trigger, nodes, credential, activationMode, staticData, loader };
		const active = runAs({ process }, () =>
			activateTrigger(setting, lacksDedupKeys ? emitWithoutKey : emit, fail),
		)!;
		const answer = await active.catch((error: Refusal) => error);
		const isRefused = answer instanceof Error;
		const end = async () =>
			await runAs({ process }, async () => isRefused || (await answer.closeFunction?.()));
		if (!isCurrent()) return (await end(), true);
		recordPublished(isRefused ? answer : undefined);
		if (isRefused) return false;
		activation.close = end;
		save();
		return true;
	}

	/** Runs an execution that an event has started. */
	async function run(): Promise<void> {
		if (!subWorkflow || calls >= MAX_CALLS) return await n8nWorkflow.sleep(SECOND);
		const name = `call ${calls++}`;
		const items = subWorkflow.items.map((text) => `${name}: ${text}`);
		await launch({ ...subWorkflow, items }, name);
	}

	const isN8nDown = () =>
		n8nOutage && clock.now >= n8nOutage.at && clock.now < n8nOutage.at + n8nOutage.forMs;
	if (n8nOutage)
		clock.after(n8nOutage.at, () => {
			record({ what: 'fault', kind: 'n8n', ends: n8nOutage.at + n8nOutage.forMs });
		});

	/** Publishes the workflow again, as a person does who has changed it, unless it is being published just now. */
	async function publishAgain(): Promise<void> {
		if (!current?.close) return;
		await close({});
		await publish('activate');
	}
	let times = republish?.times ?? 0;
	service.endListeners.push(() => {
		if (current && times-- > 0) clock.after(republish!.ms, () => void publishAgain());
	});
	for (const at of plan.toggleTimes) clock.after(at, () => void setPublished(!current));
	/** Publishes or unpublishes the workflow, as a person does. Does nothing if it is in that state. */
	async function setPublished(isPublished: boolean): Promise<void> {
		if (isPublished !== Boolean(current)) await (isPublished ? publish('activate') : close());
	}

	return {
		setPublished,
		close: async () => await close(current && {}),
		/** Activates the trigger if the workflow is published, as n8n does when it starts. */
		onN8nStart: () => current && void publish('init'),
	};
}
