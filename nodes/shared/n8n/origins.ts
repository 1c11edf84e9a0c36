import type { IDataObject, IExecuteFunctions, INode, ITaskData } from 'n8n-workflow';
import { accountOf, thisProcess } from '../account';
import { steadyNow } from '../async/deadline';
import type { GeneratedFile } from '../contract';
import { AFTERMATH_MS, Family, StartedExecutions } from '../executions';
import { Failure } from '../failure';
import type { Credential } from '../http/credential';
import { dropOldest } from '../limits';
import { asText } from '../parsing/coerce';
import { marksOf } from '../parsing/responses';

const MAX_CREATED = 10_000;
/** How long the task of a create call without a clear answer may take to appear, in ms. */
const UNCLEAR_MS = 3_600_000;
const MAX_UNCLEAR = 1000;

/** Where a speech task, a video or an image comes from. */
interface Origin {
	/** The workflow whose execution created it, and the one that called that as a sub-workflow. */
	workflowIds: string[];
	/**
	 * How many executions in a row led to it, each started by an event of the task before; undefined if
	 * no event is known to have started the execution. These executions are of its family.
	 */
	depth: number | undefined;
	family?: Family;
}

interface Work {
	origin: Origin;
	/** What is to be spoken or shown. */
	text: string;
}

/** A create call that failed, though the service may have accepted it. */
interface Unclear extends Work {
	/** In ms since 1970. */
	sentAt: number;
	/** What was taken for its own by time. */
	name?: string;
}

/**
 * What executions in this process created of an account: its speech tasks by their ids, or its videos
 * and images by the ids and the addresses of their files. n8n may run executions in workers, apart from
 * the triggers: then nothing of them is known here.
 */
export class Origins {
	private readonly created = new Map<string, Origin>();
	/** By what started the first execution of each. */
	private readonly families = new Map<string, Family>();
	private readonly underWay = new Map<Promise<unknown>, Work>();
	private unclear: Unclear[] = [];
	/** Workflows whose production executions run in this process, as far as is known. */
	readonly executedHere = new Set<string>();

	/**
	 * Notes what a create call of `work` returns, by its names; returns that call's result. `nameless` counts
	 * what may turn up under another name: of what was made, or of a call that has no clear answer.
	 */
	async note<T>(
		work: Work,
		creating: Promise<T>,
		namesOf: (made: T) => string[],
		nameless: (made?: T) => number = (made) => (made === undefined ? 1 : 0),
	): Promise<T> {
		const sentAt = steadyNow();
		const remember = (amount: number) => {
			const calls = Array.from({ length: amount }, () => ({ ...work, sentAt }));
			this.unclear = [...this.sentBefore(Infinity), ...calls].slice(-MAX_UNCLEAR);
		};
		const noted = creating.then(
			(made) => {
				for (const name of namesOf(made)) this.keep(name, work.origin);
				remember(nameless(made));
			},
			(error: unknown) => {
				if (!(error instanceof Failure)) return;
				if (error.facts.maybeAccepted || error.kind === 'streamLost') remember(nameless());
			},
		);
		const answered = noted.finally(() => this.underWay.delete(answered));
		this.underWay.set(answered, work);
		await answered;
		return await creating;
	}

	/** Resolves once the create calls of a workflow that are under way now are answered; never rejects. */
	async answered(workflowId: string): Promise<void> {
		for (const [answered, { origin }] of [...this.underWay]) {
			if (origin.workflowIds.includes(workflowId)) await answered;
		}
	}

	/** Whether a workflow still waits for something of this text, or of any text when that is ''. */
	isAwaited(workflowId: string, text: string): boolean {
		return [...this.underWay.values()]
			.filter(({ origin }) => origin.workflowIds.includes(workflowId))
			.some((work) => text === '' || work.text.trim() === text.trim());
	}

	/** Where it comes from; undefined when no execution in this process is known to have created it. */
	of(name: string): Origin | undefined {
		return this.created.get(name);
	}

	/** The family of the executions that its event starts. */
	familyOf(name: string): Family {
		const family = this.created.get(name)?.family ?? this.families.get(name) ?? new Family();
		this.families.set(name, family);
		dropOldest(this.families, MAX_CREATED);
		return family;
	}

	/** Recognises one of unknown origin, first heard of at `heardAt`, by what it speaks or shows. */
	recognize(name: string, text: string, heardAt: number): void {
		if (this.created.has(name)) return;
		const call = this.sentBefore(heardAt).find((sent) => sent.text.trim() === text.trim());
		if (!call) return;
		this.unclear = this.unclear.filter((other) => other !== call);
		this.keep(name, call.origin);
	}

	/**
	 * Whether one of unknown origin, first heard of at `heardAt`, may come from a create call without a
	 * clear answer, of this workflow or of one started by an event. True for no more than there were such
	 * calls, so that what others make is hardly ever mistaken for one.
	 */
	isDoubtful(name: string, workflowId: string, heardAt: number): boolean {
		if (this.sentBefore(Infinity).some((call) => call.name === name)) return true;
		const call = this.sentBefore(heardAt)
			.filter((sent) => sent.name === undefined)
			.find(({ origin }) => origin.depth !== undefined || origin.workflowIds.includes(workflowId));
		if (call) call.name = name;
		return call !== undefined;
	}

	/** Of the calls without a clear answer, those of the last hour that were sent by then. */
	private sentBefore(heardAt: number): Unclear[] {
		const earliest = steadyNow() - UNCLEAR_MS;
		return this.unclear.filter(({ sentAt }) => sentAt > earliest && sentAt <= heardAt);
	}

	private keep(name: string, origin: Origin): void {
		this.created.set(name, origin);
		dropOldest(this.created, MAX_CREATED);
	}
}

/** The origins of an account's speech tasks. */
export const originsOf = (credential: Credential): Origins => accountOf(credential).shared(Origins);

class GenerationOrigins extends Origins {}

/** Those of its videos and images. */
export const generationOriginsOf = (credential: Credential): GenerationOrigins =>
	accountOf(credential).shared(GenerationOrigins);

/** What n8n knows of an execution but offers no method for; any of it may be missing. */
export interface ExecutionInternals {
	workflow?: { nodes?: Record<string, INode> };
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
	const origin = originIn(context, credential, origins);
	return await origins.note({ origin, text }, create(), (taskId) => [taskId]);
}

/** The same for `expected` files of a prompt. */
export async function generatedBy(
	context: IExecuteFunctions,
	credential: Credential,
	generate: () => Promise<GeneratedFile[]>,
	{ prompt, expected }: { prompt: string; expected: number },
): Promise<GeneratedFile[]> {
	const origins = generationOriginsOf(credential);
	const origin = originIn(context, credential, origins);
	// The history may know a file by another address than the one in the event.
	const nameless = (files?: GeneratedFile[]) =>
		files ? files.filter(({ id }) => id === undefined).length : expected;
	return await origins.note({ origin, text: prompt }, generate(), marksOf, nameless);
}

/** The origin of what an execution creates, which is noted as one that runs in this process. */
function originIn(context: IExecuteFunctions, credential: Credential, origins: Origins): Origin {
	const { parentExecution, resultData } = (context as ExecutionInternals).runExecutionData ?? {};
	const { id } = context.getWorkflow();
	const calledBy = parentExecution?.workflowId;
	const event = context
		.getParentNodes(context.getNode().name)
		.filter(({ type }) => type.endsWith('.mediaGenerationTrigger'))
		.map(({ name }) => resultData?.runData?.[name]?.[0]?.data?.main?.[0]?.[0]?.json)
		.find((json) => json !== undefined);
	// A manual execution runs in this process even where all others run in workers.
	const isProduction = ['trigger', 'webhook'].includes(context.getMode());
	if (isProduction) origins.executedHere.add(id ?? '');
	return {
		workflowIds: [id, calledBy].filter((each): each is string => each !== undefined && each !== ''),
		depth: undefined,
		...(event ? startedBy(event, credential) : startedWithin(id, calledBy)),
	};
}

/** Nothing when the item is no event of a task, a video or an image. */
function startedBy(event: IDataObject, credential: Credential): Partial<Origin> {
	const isGenerated = event.event === 'generated';
	const told = isGenerated ? [event.id, event.file_url] : [event.task_id];
	const names = told.map(asText).filter((name) => name !== undefined);
	if (names.length === 0) return {};
	const origins = isGenerated ? generationOriginsOf(credential) : originsOf(credential);
	const name = names.find((each) => origins.of(each) !== undefined) ?? names[0]!;
	return { depth: (origins.of(name)?.depth ?? 0) + 1, family: origins.familyOf(name) };
}

/** The same where the event is out of sight, for a model or in a sub-workflow: by what is under way. */
function startedWithin(id = '', calledBy = ''): Partial<Origin> {
	const earliest = steadyNow() - AFTERMATH_MS;
	const [deepest] = [...thisProcess.shared(StartedExecutions)]
		.filter(({ overAt }) => overAt > earliest)
		.filter(
			({ workflowId, calls }) => [id, calledBy].includes(workflowId) || calls.includes(calledBy),
		)
		.sort((a, b) => b.depth - a.depth);
	return deepest ? { depth: deepest.depth + 1, family: deepest.family } : {};
}
