import type { IDataObject, IRun, WorkflowActivateMode } from 'n8n-workflow';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';
import { runAs } from './clock.mts';
import { credential, givenOf } from './executions.mts';
import type { Stage } from './play.mts';
import type { Trigger } from './world.mts';

const SECOND = 1000;
/** A person tries until it works; n8n itself tries five times. */
const TRIES = 5;

/** A workflow with a trigger, and what n8n knows of it. */
export class Publication {
	isWanted = false;
	private saved: IDataObject = {};
	/** Counts its activations: what an earlier one still does is of no importance. */
	private life = 0;
	private closeFunction: (() => Promise<unknown>) | undefined;

	private readonly stage: Stage;
	private readonly plan: Trigger;
	private readonly name: string;

	constructor(stage: Stage, plan: Trigger, index: number) {
		this.stage = stage;
		this.plan = plan;
		this.name = `trigger ${index}`;
	}

	/** Activates it, again and again if it is refused. */
	async publish(mode: WorkflowActivateMode): Promise<void> {
		const life = ++this.life;
		for (let tries = 1; tries <= TRIES || mode === 'activate'; tries++) {
			if (life !== this.life || !this.isWanted || (await this.activate(mode, life))) return;
			await this.stage.pause(mode === 'activate' ? 30 * SECOND : 2 ** tries * SECOND);
		}
	}

	/** Publishes it as a person does, or unpublishes it if it is published. */
	async turn(isWanted = !this.isWanted): Promise<void> {
		if (isWanted === this.isWanted) return;
		this.isWanted = isWanted;
		if (isWanted) return await this.publish('activate');
		await this.close();
		this.stage.note({ what: 'unpublished', trigger: this.name });
	}

	async close(): Promise<void> {
		this.life++;
		const { closeFunction } = this;
		this.closeFunction = undefined;
		await closeFunction?.();
	}

	/** True if it listens, or is of no importance any more. */
	private async activate(activationMode: WorkflowActivateMode, life: number): Promise<boolean> {
		const { stage, name, plan, saved } = this;
		const process = stage.processOf(0);
		if (process.isDead) return true;
		const { events, download } = plan;
		const taskIds = plan.tasks.map((text) => stage.service.taskOf(text));
		const published = (refused?: string) => {
			const wanted = { events, taskIds, download };
			stage.note({ what: 'published', trigger: name, process: process.name, wanted, refused });
		};
		const staticData = structuredClone(saved);
		const save = () => {
			this.saved = JSON.parse(JSON.stringify(staticData));
			stage.note({ what: 'saved', trigger: name, text: JSON.stringify(staticData) });
		};
		// Four parameters tell the trigger that this n8n drops duplicates.
		const emit: Parameters<typeof activateTrigger>[1] = (output, _response, ending, key = '') =>
			stage.effect({ process }, () => {
				const isNew = !stage.keys.has(key);
				stage.keys.add(key);
				const given = givenOf(output[0]![0]!);
				stage.note({ what: 'started', trigger: name, key, isNew, given });
				save();
				if (!isNew) return ending?.reject(new Error('There is no active execution'));
				stage.clock.after(SECOND, () => ending?.resolve({} as IRun));
			});
		const isCurrent = () => life === this.life && !process.isDead;
		const fail = (error: Error) => {
			if (!isCurrent()) return;
			published(saidBy(error));
			void this.close().then(async () => await this.publish('update'));
		};
		const parameters = { events, taskIds: taskIds.join(), options: { download } };
		const setting = {
			...{ workflowId: name, nodes: [triggerNode(parameters)], credential, activationMode },
			...{ staticData, loader: process.loader },
		};
		const active = runAs({ process }, () => activateTrigger(setting, emit, fail))!;
		const answer = await active.catch((error: Error) => error);
		const close = async () =>
			await runAs(
				{ process },
				async () => 'closeFunction' in answer && (await answer.closeFunction?.()),
			);
		if (!isCurrent()) return (await close(), true);
		if (answer instanceof Error) return (published(saidBy(answer)), false);
		this.closeFunction = close;
		published();
		save();
		return true;
	}
}

const saidBy = (error: Error & { description?: string }) =>
	`${error.message} ${error.description ?? ''}`;
