import type { IRun, ITriggerFunctions, NodeTypeAndVersion } from 'n8n-workflow';
import { thisProcess } from '../../shared/account';
import { settledWithin, steadyNow } from '../../shared/async/deadline';
import { StartedExecutions } from '../../shared/executions';
import { Failure } from '../../shared/failure';
import { dropOldest } from '../../shared/limits';
import type { Origins } from '../../shared/n8n/origins';
import { asText, isRecord } from '../../shared/parsing/coerce';
import type { Activation } from './activation';
import { Chain } from './chain';

/** How many executions in a row may each start the next one. */
const MAX_CHAIN = 10;
/** How many executions are remembered. */
const MAX_EXECUTIONS = 5000;
/** No create call takes longer, in ms. */
const MAX_CREATE_MS = 130_000;

/** By trigger: executions go on when it is closed and activated again. */
class Chains extends Map<string, Chain> {}

/** Keeps a workflow from starting itself forever: each of its executions may cost something. */
export class SelfStarts {
	private readonly workflowId: string;
	private readonly chain: Chain;
	/** Nodes after the trigger that create what it reports. */
	private readonly creators: NodeTypeAndVersion[];
	/** Sub-workflows that nodes after the trigger call. */
	private readonly calls: string[];

	/** `origins` are those of what is `created`. */
	constructor(
		private readonly activation: Activation,
		private readonly origins: Origins,
		private readonly created: keyof typeof CREATING = 'speech',
	) {
		const { context, scope } = activation;
		this.workflowId = context.getWorkflow().id ?? '';
		const chains = thisProcess.shared(Chains);
		this.chain = (scope !== undefined && chains.get(scope)) || new Chain();
		if (scope !== undefined) chains.set(scope, this.chain);
		const after = reachedFrom(context);
		this.creators = after.filter((node) => creates(node, created));
		this.calls = after
			.filter(({ type }) => /\.(?:executeWorkflow|toolWorkflow)$/.test(type))
			.map(({ parameters }) => parameters?.workflowId as unknown)
			.map((called) => asText(isRecord(called) ? called.value : called))
			.filter((called) => called !== undefined);
	}

	/** Says in the log what such a node after the trigger can lead to. */
	warn(): void {
		const [first] = this.creators;
		if (!first) return;
		const { settings, warn } = this.activation;
		const where = settings.includeOwnTasks
			? ''
			: 'if n8n runs executions in workers (queue mode), ';
		warn(
			`'${first.name}' follows the trigger: ${where}all that it creates starts the workflow again, until an error stops it after ten times in a row`,
		);
	}

	/**
	 * A task, or a video or image, is heard of, at most `lateMs` after it was created; `name` is what its
	 * origin is known by. False if the trigger is to pass it over.
	 */
	see(name: string, lateMs = 0): boolean {
		this.chain.see(name, lateMs);
		return !this.isPassedOver(name);
	}

	/** Whether this workflow awaits something of this text. */
	isAwaited(text: string): boolean {
		return this.origins.isAwaited(this.workflowId, text);
	}

	/** Waits for create calls under way, since a message can precede the answer. */
	async answered(): Promise<void> {
		const answered = this.origins.answered(this.workflowId);
		await settledWithin(MAX_CREATE_MS, this.activation.closing, answered);
	}

	/**
	 * How deep in a chain of executions an event is. Call this when it becomes known, and what this returns
	 * right before it is emitted: undefined then means that it is to be passed over. Where the answer to the
	 * create call never came, the `text` that it speaks or shows tells whose it is, if known. A chain that is
	 * too long ends the trigger; later events of its family are passed over.
	 */
	depthLater(name: string, text: string | undefined): () => number | undefined {
		// A video or image is heard of late: that an execution waited for it says nothing.
		const waits =
			this.created === 'speech' &&
			this.creators.every(({ parameters }) => parameters?.waitForCompletion !== false);
		const possibleDepth = this.chain.depthOf(name, waits);
		return () => {
			if (text !== undefined) this.origins.recognize(name, text, this.chain.heardAt(name));
			if (this.isPassedOver(name)) return undefined;
			const depth = this.knownDepth(name) ?? possibleDepth;
			const family = this.origins.familyOf(name);
			const isDeep = depth >= MAX_CHAIN;
			if (!isDeep && !family.isFull(depth)) return depth;
			if (family.isEnded) return undefined;
			family.isEnded = true;
			const facts = isDeep ? {} : { text: 'a hundred times or more' };
			this.activation.onFatal(new Failure('startsItself', facts));
			return undefined;
		};
	}

	/** An execution begins, started by the event of `name` at this depth. */
	begin(name: string, depth: number, over: Promise<IRun | undefined>): void {
		const { chain, workflowId, calls } = this;
		const family = this.origins.familyOf(name);
		family.add(depth);
		const execution = { chain, workflowId, calls, depth, family, overAt: Infinity };
		dropOldest(thisProcess.shared(StartedExecutions).add(execution), MAX_EXECUTIONS);
		void over.then((run) => {
			execution.overAt = steadyNow();
			// A run in a worker comes without the data of its nodes, or with its job.
			const ranHere = Object.keys(run?.data?.resultData?.runData ?? {}).length > 0;
			if (ranHere && run?.jobId === undefined) this.origins.executedHere.add(workflowId);
		});
	}

	private isOwn(name: string): boolean {
		return this.origins.of(name)?.workflowIds.includes(this.workflowId) === true;
	}

	private isPassedOver(name: string): boolean {
		return !this.activation.settings.includeOwnTasks && this.isOwn(name);
	}

	/** Undefined when it can only be judged by time. */
	private knownDepth(name: string): number | undefined {
		const origin = this.origins.of(name);
		if (origin) return origin.depth ?? (this.isOwn(name) ? undefined : 0);
		const heardAt = this.chain.heardAt(name);
		// A Speak node whose create call gets no clear answer does not wait for the task.
		if (this.origins.isDoubtful(name, this.workflowId, heardAt)) {
			return this.chain.depthOf(name, false);
		}
		const isTold = this.origins.executedHere.has(this.workflowId);
		return isTold || this.creators.length === 0 ? 0 : undefined;
	}
}

/** Which nodes create which, by the values of their parameters; '' stands for the default. */
const CREATING = {
	speech: { resources: ['', 'speech'], operations: ['', 'speak'] },
	media: {
		resources: ['video', 'image'],
		operations: ['', 'create', 'textToVideo', 'ingredientsToVideo', 'framesToVideo'],
	},
};

/** The nodes that an execution of this trigger may reach, tools of an agent among them. */
function reachedFrom(context: ITriggerFunctions): NodeTypeAndVersion[] {
	const withParameters = { includeNodeParameters: true };
	const after = context.getChildNodes(context.getNode().name, withParameters);
	const tools = after.flatMap(({ name }) =>
		context.getParentNodes(name, { ...withParameters, connectionType: 'ai_tool' }),
	);
	return [...after, ...tools].filter(({ disabled }) => !disabled);
}

/** Whether a node is of this package, and may create this. */
function creates({ type, parameters }: NodeTypeAndVersion, what: keyof typeof CREATING): boolean {
	const { resources, operations } = CREATING[what];
	const maybe = (value: unknown = '', wanted: string[]) =>
		wanted.includes(String(value)) || String(value).startsWith('=');
	const isOurs = /\.mediaGeneration(?:Tool)?$/.test(type);
	return (
		isOurs && maybe(parameters?.resource, resources) && maybe(parameters?.operation, operations)
	);
}
