import type { IDataObject, IRun, WorkflowActivateMode } from 'n8n-workflow';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';
import { clock, pause, runAs, SECOND } from './clock.mts';
import { credential, givenOf } from './executions.mts';
import { note } from './ledger.mts';
import type { N8n } from './n8n.mts';
import { effect } from './network.mts';
import type { Service } from './service.mts';
import type { Trigger } from './world.mts';

type Refusal = Error & { description?: string };
/** One activation, from its attempts to its end. */
type Life = { close?(): Promise<unknown> };

/** A workflow with a trigger, in the process that `processOf` returns, and what n8n knows of it. */
export function publicationOf(
	service: Service,
	processOf: () => N8n,
	trigger: string,
	plan: Trigger,
) {
	const { events, download, tasks } = plan;
	/** The keys of the executions in n8n's database. */
	const keys = new Set<string>();
	let saved: IDataObject = {};
	/** The one that counts; undefined: it is not published. */
	let current: Life | undefined;

	/** Activates it. If it is refused, a person tries until it works, n8n itself five times. */
	async function publish(mode: WorkflowActivateMode): Promise<void> {
		const life = (current = {});
		const isPerson = mode === 'activate';
		for (let tries = 1; tries <= 5 || isPerson; tries++) {
			if (life !== current || (await activate(mode, life))) return;
			await pause(isPerson ? 30 * SECOND : 2 ** tries * SECOND);
		}
	}

	async function close(next?: Life): Promise<void> {
		const last = current;
		current = next;
		note({ what: 'unpublished', trigger });
		await last?.close?.();
	}

	/** True if it listens, or is of no importance any more. */
	async function activate(activationMode: WorkflowActivateMode, life: Life): Promise<boolean> {
		const process = processOf();
		if (process.isDead) return true;
		const taskIds = tasks.map(service.taskOf);
		const published = (error?: Refusal) => {
			const refused = error && `${error.message} ${error.description ?? ''}`;
			const wanted = { events, taskIds, download };
			note({ what: 'published', trigger, process: process.name, wanted, refused });
		};
		const staticData = structuredClone(saved);
		const save = () => {
			saved = JSON.parse(JSON.stringify(staticData));
			note({ what: 'saved', trigger, text: JSON.stringify(staticData) });
		};
		// Four parameters tell the trigger that this n8n drops duplicates.
		const emit: Parameters<typeof activateTrigger>[1] = (output, _response, ending, key = '') =>
			effect({ process }, () => {
				const isNew = !keys.has(key);
				keys.add(key);
				note({ what: 'started', trigger, key, isNew, given: givenOf(output[0]![0]!) });
				save();
				if (!isNew) return ending?.reject(new Error('There is no active execution'));
				clock.after(SECOND, () => ending?.resolve({} as IRun));
			});
		const isCurrent = () => life === current && !process.isDead;
		const fail = (error: Error) => {
			if (!isCurrent()) return;
			published(error);
			void close({}).then(async () => await publish('update'));
		};
		const nodes = [triggerNode({ events, taskIds: taskIds.join(), options: { download } })];
		const { loader } = process;
		const setting = { workflowId: trigger, nodes, credential, activationMode, staticData, loader };
		const active = runAs({ process }, () => activateTrigger(setting, emit, fail))!;
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

	return {
		close: async () => await close(current && {}),
		/** Publishes it as a person does, or unpublishes it if it is published. */
		async turn(isNext = !current): Promise<void> {
			if (isNext === Boolean(current)) return;
			if (isNext) return await publish('activate');
			await close();
		},
		/** As n8n does when it starts. */
		publishAgain: () => current && void publish('init'),
	};
}
