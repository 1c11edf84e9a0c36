import type { IExecuteFunctions } from 'n8n-workflow';
import { accountOf } from '../account';
import { settledWithin } from '../async/deadline';
import type { GeneratedFile } from '../contract';
import type { Credential } from '../http/credential';
import { dropOldest } from '../limits';
import { marksOf } from '../parsing/responses';

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
	/** By the task's name, or the marks of the files. */
	private readonly creators = new Map<string, SubWorkflow>();
	private readonly underWay = new Map<Promise<void>, SubWorkflow>();

	/** Notes what a create call returns, by its names; returns that call's result. */
	async record<T>(
		creator: SubWorkflow,
		creating: Promise<T>,
		namesOf: (made: T) => string[],
	): Promise<T> {
		const noted = creating.then(
			(made) => {
				for (const name of namesOf(made)) this.creators.set(name, creator);
				dropOldest(this.creators, MAX_CREATED);
			},
			() => {},
		);
		const answered = noted.finally(() => this.underWay.delete(answered));
		this.underWay.set(answered, creator);
		await answered;
		return await creating;
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
		const isKnown = () =>
			names.map((name) => this.creators.get(name)).some((creator) => creator && isOwn(creator));
		const own = [...this.underWay].filter(([, creator]) => isOwn(creator));
		if (own.length > 0 && !isKnown()) {
			const answers = Promise.all(own.map(([answered]) => answered));
			await settledWithin(MAX_ANSWER_MS, signal, answers);
		}
		return isKnown();
	}
}

/** The name under which a speech task is noted: a video may have the same id. */
export const nameOfTask = (taskId: string): string => `task ${taskId}`;

/** An execution that creates something. */
interface Execution {
	context: IExecuteFunctions;
	credential: Credential;
}

/** Notes the speech task of a create call; returns that call's result. */
export const recordTask = async (execution: Execution, creating: Promise<string>) =>
	await recordWork(execution, creating, (taskId) => [nameOfTask(taskId)]);

/** The same for videos and images. */
export const recordFiles = async (execution: Execution, creating: Promise<GeneratedFile[]>) =>
	await recordWork(execution, creating, marksOf);

async function recordWork<T>(
	{ context, credential }: Execution,
	creating: Promise<T>,
	namesOf: (made: T) => string[],
): Promise<T> {
	const { parentExecution } = (context as ExecutionInternals).runExecutionData ?? {};
	const { id = '' } = context.getWorkflow();
	const calledBy = parentExecution?.workflowId;
	if (calledBy === undefined) return await creating;
	return await accountOf(credential).shared(OwnWork).record({ id, calledBy }, creating, namesOf);
}
