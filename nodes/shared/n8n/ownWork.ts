import type { IExecuteFunctions } from 'n8n-workflow';
import { accountOf } from '../account';
import { settledWithin } from '../async/deadline';
import type { Credential } from '../http/credential';
import { dropOldest } from '../limits';

/** What n8n knows of an execution but offers no method for; it may be missing. */
interface ExecutionInternals {
	runExecutionData?: { parentExecution?: { workflowId?: string } };
}

/** How many tasks and files of an account are remembered. */
const MAX_CREATED = 10_000;
/** How long an event waits for create calls under way, in ms: one of speech takes no longer. */
const MAX_ANSWER_MS = 130_000;

/** A sub-workflow that creates something, and the workflow that called it. */
export interface SubWorkflow {
	id: string;
	calledBy: string;
}

/**
 * What sub-workflows in this process have created of an account, so that a trigger in the workflow that
 * called them can pass it over.
 */
export class OwnWork {
	private readonly created = new Map<Promise<string[]>, SubWorkflow>();

	/** Notes the names of what a create call under way makes; they never reject. */
	record(creator: SubWorkflow, names: Promise<string[]>): void {
		this.created.set(names, creator);
		dropOldest(this.created, MAX_CREATED);
	}

	/**
	 * Whether something of one of these names was created by a sub-workflow that `isOwn`. A message can
	 * precede the answer of its create call, so those under way are waited for. Never rejects.
	 */
	async includes(
		names: string[],
		isOwn: (creator: SubWorkflow) => boolean,
		signal: AbortSignal,
	): Promise<boolean> {
		const own = [...this.created].filter(([, creator]) => isOwn(creator)).map(([made]) => made);
		const made = await settledWithin(MAX_ANSWER_MS, signal, Promise.all(own));
		return made?.flat().some((name) => names.includes(name)) === true;
	}
}

/** The name under which a speech task is noted: a video may have the same id. */
export const nameOfTask = (taskId: string): string => `task ${taskId}`;

/** Notes what a create call under way makes, if a workflow has called this one. */
export function recordOwnWork<T>(
	{ context, credential }: { context: IExecuteFunctions; credential: Credential },
	creating: Promise<T>,
	namesOf: (made: T) => string[],
): void {
	const { parentExecution } = (context as ExecutionInternals).runExecutionData ?? {};
	const { id = '' } = context.getWorkflow();
	const calledBy = parentExecution?.workflowId;
	if (calledBy === undefined) return;
	const names = creating.then(namesOf, () => []);
	accountOf(credential).shared(OwnWork).record({ id, calledBy }, names);
}
