import type { IExecuteFunctions, ITaskData } from 'n8n-workflow';
import { accountOf } from '../account';
import { Failure } from '../failure';
import type { Credential } from '../http/credential';
import { dropOldest } from '../limits';
import { asText } from '../parsing/coerce';

/** How many tasks' origins are remembered. */
const MOST_CREATED = 10_000;
/** How long the task of a create call without a clear answer may take to appear, in ms. */
const UNCLEAR_MS = 3_600_000;
/** How many such calls are remembered. */
const MOST_UNCLEAR = 1000;

/** Where a speech task comes from. */
interface Origin {
	/** The workflow whose execution created it, and the one that called that as a sub-workflow. */
	workflowIds: string[];
	/**
	 * How many executions in a row led to it, each started by an event of the task before; undefined if
	 * no event is known to have started the execution.
	 */
	depth: number | undefined;
}

/** A create call that failed, though the service may have accepted it. */
interface Unclear {
	origin: Origin;
	/** The text it was to speak. */
	text: string;
	/** When it was sent, in ms since 1970. */
	sentAt: number;
	/** The task taken for its own by time: one call makes one at most. */
	taskId?: string;
}

/**
 * Which speech tasks of an account executions in this process created. n8n may run executions in
 * workers, apart from the triggers: then nothing of them is known here.
 */
export class Origins {
	/** By task, the newest last. */
	private readonly created = new Map<string, Origin>();
	/** Create calls not answered yet. */
	private readonly underWay = new Map<Promise<unknown>, Origin>();
	/** The oldest first. */
	private unclear: Unclear[] = [];

	/** Workflows whose production executions run in this process, as far as is known. */
	readonly executedHere = new Set<string>();

	/**
	 * Notes the origin of the task that a create call for `text` returns; returns that call's promise.
	 */
	async note(origin: Origin, text: string, creating: Promise<string>): Promise<string> {
		const sentAt = Date.now();
		const noted = creating.then(
			(taskId) => this.keep(taskId, origin),
			(error: unknown) => {
				if (!(error instanceof Failure) || !error.facts.maybeAccepted) return;
				this.unclear = [...this.recent().slice(1 - MOST_UNCLEAR), { origin, text, sentAt }];
			},
		);
		const answered = noted.finally(() => this.underWay.delete(answered));
		this.underWay.set(answered, origin);
		await answered;
		return await creating;
	}

	/** Resolves once the create calls of a workflow that are under way now are answered; never rejects. */
	async answered(workflowId: string): Promise<void> {
		const own = [...this.underWay].filter(([, { workflowIds }]) =>
			workflowIds.includes(workflowId),
		);
		await Promise.all(own.map(async ([answered]) => await answered));
	}

	/** Where a task comes from; undefined when no execution in this process is known to have created it. */
	of(taskId: string): Origin | undefined {
		return this.created.get(taskId);
	}

	/** Recognises a task of unknown origin, first heard of at `heardAt`, by the text that it speaks. */
	recognize(taskId: string, text: string, heardAt: number): void {
		if (this.created.has(taskId)) return;
		const call = this.recent().find(
			({ text: own, sentAt }) => own.trim() === text.trim() && sentAt <= heardAt,
		);
		if (!call) return;
		this.unclear = this.unclear.filter((other) => other !== call);
		this.keep(taskId, call.origin);
	}

	/**
	 * Whether a task of unknown origin, first heard of at `heardAt`, may come from a create call
	 * without a clear answer, of this workflow or of one started by a task. True for no more tasks than
	 * there were such calls, so that other people's tasks are hardly ever mistaken for one.
	 */
	isDoubtful(taskId: string, workflowId: string, heardAt: number): boolean {
		const calls = this.recent();
		if (calls.some((call) => call.taskId === taskId)) return true;
		const call = calls.find(
			({ origin, sentAt, taskId: taken }) =>
				taken === undefined &&
				sentAt <= heardAt &&
				(origin.depth !== undefined || origin.workflowIds.includes(workflowId)),
		);
		if (call) call.taskId = taskId;
		return call !== undefined;
	}

	private recent(): Unclear[] {
		return this.unclear.filter(({ sentAt }) => sentAt > Date.now() - UNCLEAR_MS);
	}

	private keep(taskId: string, origin: Origin): void {
		this.created.set(taskId, origin);
		dropOldest(this.created, MOST_CREATED);
	}
}

/** The origins of an account's tasks in this process. */
export const originsOf = (credential: Credential): Origins =>
	accountOf(credential).part(Origins, () => new Origins());

/** What n8n knows of an execution but offers no method for; any of it may be missing. */
interface Internals {
	runExecutionData?: {
		parentExecution?: { workflowId?: string };
		resultData?: { runData?: Record<string, ITaskData[]> };
	};
}

/**
 * Creates a task for `text` with `create`, and notes that this execution did, so that its workflow's
 * trigger passes it over.
 */
export async function createdBy(
	context: IExecuteFunctions,
	credential: Credential,
	create: () => Promise<string>,
	text: string,
): Promise<string> {
	const origins = originsOf(credential);
	const { parentExecution, resultData } = (context as Internals).runExecutionData ?? {};
	const workflowIds = [context.getWorkflow().id, parentExecution?.workflowId];
	const startedBy = context
		.getParentNodes(context.getNode().name)
		.filter(({ type }) => type.endsWith('.mediaGenerationTrigger'))
		.map(({ name }) => resultData?.runData?.[name]?.[0]?.data?.main?.[0]?.[0]?.json.task_id)
		.map(asText)
		.find((taskId) => taskId !== undefined);
	const depth = startedBy === undefined ? undefined : (origins.of(startedBy)?.depth ?? 0) + 1;
	const known = workflowIds.filter((id): id is string => id !== undefined && id !== '');
	// A manual execution runs in this process even where all others run in workers.
	const isProduction = ['trigger', 'webhook'].includes(context.getMode());
	if (isProduction) origins.executedHere.add(context.getWorkflow().id ?? '');
	return await origins.note({ workflowIds: known, depth }, text, create());
}
