import type { IDataObject, IRun, WorkflowActivateMode } from 'n8n-workflow';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';
import { clock, pause, runAs, SECOND } from './clock.mts';
import { credential, givenOf } from './executions.mts';
import { note } from './ledger.mts';
import type { N8n } from './n8n.mts';
import { effect } from './network.mts';
import type { Service } from './service.mts';
import type { Trigger } from './world.mts';

/** A workflow with a trigger, and what n8n knows of it. */
export function publicationOf(
	service: Service,
	processOf: () => N8n,
	plan: Trigger,
	index: number,
) {
	const trigger = `trigger ${index}`;
	/** The keys of the executions in n8n's database. */
	const keys = new Set<string>();
	let isWanted = false;
	let saved: IDataObject = {};
	/** Counts its activations: what an earlier one still does is of no importance. */
	let current = 0;
	let closeCurrent: () => Promise<unknown> = async () => {};

	/** Activates it. If it is refused, a person tries until it works, n8n itself five times. */
	async function publish(mode: WorkflowActivateMode): Promise<void> {
		const [life, isPerson] = [++current, mode === 'activate'];
		for (let tries = 1; tries <= 5 || isPerson; tries++) {
			if (life !== current || !isWanted || (await activate(mode, life))) return;
			await pause(isPerson ? 30 * SECOND : 2 ** tries * SECOND);
		}
	}

	async function close(): Promise<void> {
		current++;
		const closeNow = closeCurrent;
		closeCurrent = async () => {};
		await closeNow();
	}

	/** True if it listens, or is of no importance any more. */
	async function activate(activationMode: WorkflowActivateMode, life: number): Promise<boolean> {
		const process = processOf();
		if (process.isDead) return true;
		const { events, download } = plan;
		const taskIds = plan.tasks.map(service.taskOf);
		const wanted = { events, taskIds, download };
		const published = (error?: Error & { description?: string }) => {
			const refused = error && `${error.message} ${error.description ?? ''}`;
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
			void close().then(async () => await publish('update'));
		};
		const nodes = [triggerNode({ events, taskIds: taskIds.join(), options: { download } })];
		const { loader } = process;
		const setting = { workflowId: trigger, nodes, credential, activationMode, staticData, loader };
		const active = runAs({ process }, () => activateTrigger(setting, emit, fail))!;
		const answer = await active.catch((error: Error) => error);
		const isRefused = answer instanceof Error;
		const closeIt = async () =>
			await runAs({ process }, async () => isRefused || (await answer.closeFunction?.()));
		if (!isCurrent()) return (await closeIt(), true);
		published(isRefused ? answer : undefined);
		if (isRefused) return false;
		closeCurrent = closeIt;
		save();
		return true;
	}

	return {
		close,
		/** Publishes it as a person does, or unpublishes it if it is published. */
		async turn(isNext = !isWanted): Promise<void> {
			if (isNext === isWanted) return;
			isWanted = isNext;
			if (isWanted) return await publish('activate');
			await close();
			note({ what: 'unpublished', trigger });
		},
		/** As n8n does when it starts. */
		publishAgain: () => isWanted && void publish('init'),
	};
}
