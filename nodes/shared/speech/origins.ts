import type { IExecuteFunctions, ITaskData } from 'n8n-workflow';
import { accountOf } from '../account';
import type { ServiceAddress } from '../http/credential';
import { asText } from '../parsing/coerce';

/** Tasks whose origin is remembered. */
const MOST_CREATED = 10_000;

/** Where a speech task comes from. */
interface Origin {
	/** The workflow whose execution created it, and the one that called that as a sub-workflow. */
	workflowIds: string[];
	/**
	 * How many executions in a row led to it, each started by an event of the task before; unknown where
	 * no event of a task is seen to have started the execution.
	 */
	depth: number | undefined;
}

/**
 * Which speech tasks of an account executions in this process created. n8n may run executions in
 * workers, apart from the triggers: then nothing of them is known here.
 */
export class Origins {
	/** By task, the newest at the end. */
	private readonly created = new Map<string, Origin>();
	/** Create calls that are not answered yet. */
	private readonly underWay = new Map<Promise<unknown>, Origin>();

	/** Workflows whose production executions run in this process, as far as is known. */
	readonly executedHere = new Set<string>();

	/** Notes whose task it is that a create call returns; returns that call's promise. */
	async note(origin: Origin, creating: Promise<string>): Promise<string> {
		const noted = creating.then((taskId) => {
			this.created.set(taskId, origin);
			const [oldest] = this.created.keys();
			if (this.created.size > MOST_CREATED) this.created.delete(oldest!);
		});
		const answered = noted.catch(() => {}).finally(() => this.underWay.delete(answered));
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
}

/** The origins of an account's tasks in this process. */
export const originsOf = (address: ServiceAddress): Origins =>
	accountOf(address).part(Origins, () => new Origins());

/** What n8n knows of an execution and has no method for: all of it may be missing. */
interface Internals {
	runExecutionData?: {
		parentExecution?: { workflowId?: string };
		resultData?: { runData?: Record<string, ITaskData[]> };
	};
}

/** Creates a task by `create`, and notes that this execution did: its workflow's trigger passes it over. */
export async function createdBy(
	context: IExecuteFunctions,
	address: ServiceAddress,
	create: () => Promise<string>,
): Promise<string> {
	const origins = originsOf(address);
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
	// By hand an execution runs in this process also where all others run in workers.
	const isProduction = ['trigger', 'webhook'].includes(context.getMode());
	if (isProduction) origins.executedHere.add(context.getWorkflow().id ?? '');
	return await origins.note({ workflowIds: known, depth }, create());
}
