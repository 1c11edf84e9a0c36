/* Runs the node in n8n's own engine, and describes the outcomes. */
import { readFileSync } from 'node:fs';
import type { PaidOperation } from '../nodes/shared/contract.ts';
import { runWorkflow, type WorkflowResult } from '../demo/engine.mts';
import { node, NODE, parametersFor, workflow } from '../test/faults/workflow.mts';
import { activateTrigger, triggerNode } from '../test/service/triggerNode.mts';
import { eventually } from '../tools/eventually.mts';
import { MISSING_TASK, type Outcome } from './recording.mts';
import { shared } from './shared.mts';
import type { Exchange, Wire } from './wire.mts';

interface Paid {
	/** The part of the interface that the operation tests, as the report names it. */
	part: string;
	/** The row of the node's contract. */
	contractRow: PaidOperation;
	/** The text or prompt. */
	text: string;
	/** What is charged, in words for the user. */
	charges: string;
}

/** The operations that are charged, by the names that `--pay` takes. */
export const PAID: Record<string, Paid> = {
	speech: {
		...{ part: '§4.1–4.2 Speech', contractRow: shared.SPEAK },
		text: 'This is a short test of the speech interface.',
		charges: 'one text of 45 characters, then Collect of the same task',
	},
	image: {
		...{ part: '§4.8 Image', contractRow: shared.GENERATIONS.image, charges: 'one image' },
		text: 'A red kite above a green hill, in the morning.',
	},
	video: {
		...{ part: '§4.5 Video from text', contractRow: shared.GENERATIONS.textToVideo },
		...{ text: 'A red kite rises above a green hill.', charges: 'one video, landscape' },
	},
	ingredients: {
		...{ part: '§4.6 Video from images', contractRow: shared.GENERATIONS.ingredientsToVideo },
		text: 'The picture, slowly coming nearer.',
		charges: 'one video from an image of 48 kB',
	},
	frames: {
		...{ part: '§4.7 Video from frames', contractRow: shared.GENERATIONS.framesToVideo },
		...{ text: 'From this picture, slowly to the left.', charges: 'one video from the same image' },
	},
	dropped: {
		...{ part: '§6.1 A dropped stream', contractRow: shared.GENERATIONS.image },
		text: 'A blue kite above a yellow field, at noon.',
		charges: 'one more image, whose stream the check cuts',
	},
};

/** The operations that cost nothing, as `resource:operation` of the node. `missing` reads a task that does not exist. */
const FREE: Record<string, string> = {
	account: 'account:get',
	voices: 'voice:getAll',
	history: 'history:getAll',
	missing: 'speech:get',
};
export const FREE_OPERATIONS = Object.keys(FREE);

export const makesSpeech = (operation: string) => PAID[operation]?.contractRow.kind === 'speech';

/** Returns the events that a trigger can detect of `operations`. Without a WebSocket, it detects no speech tasks. */
function detectableEvents(operations: string[], exchanges: Exchange[]): Set<string> {
	const hasSocket = exchanges.some((each) => each.method === 'WEBSOCKET' && each.status === 101);
	const detectable = operations.filter((each) => PAID[each] && (hasSocket || !makesSpeech(each)));
	return new Set(detectable.map((each) => (makesSpeech(each) ? 'completed' : 'generated')));
}

/** How many entries of a list the node reads. It asks for pages of this size. */
export const PAGE_SIZE = 20;
/** How long a free operation may take, in ms. The node alone would try for minutes while the service is unavailable. */
const FREE_TIMEOUT_MS = 12_000;
/** The node's option **Timeout** for each kind of media, in seconds. */
const TIMEOUTS = { speech: 300, video: 600, image: 180 };
export const TIMED_OUT = 'error: still trying when the check ended it, after 12 s';
export const STOPPED = 'error: the check was stopped';

const png = readFileSync(new URL('../simulator/media/image.png', import.meta.url));
const image = { data: png.toString('base64'), mimeType: 'image/png', fileName: 'image.png' };

export type Credential = { apiToken: string; baseUrl: string; webSocketUrl: string };

interface Plan {
	/** The free and paid operations to run. Other names are ignored: Collect and the trigger follow by themselves. */
	operations: string[];
	/** The voice that speaks. */
	voice?: string;
	/** What stands in for the service at local URLs. */
	service: Pick<Wire, 'exchanges' | 'withRealOrigins'>;
	/** Is called with the name of each operation before it begins. */
	before?: (operation: string) => void;
	/** Cancels the operation in progress. No paid operation starts afterwards. */
	stop: AbortSignal;
	/** The time limit of each free operation, in ms. */
	freeTimeoutMs?: number;
}

/** What came of an operation, and the HTTP exchanges that were added meanwhile. */
export interface Run extends Outcome {
	calls: Exchange[];
	/** The ID of the speech task that was created or read. */
	taskId?: unknown;
}

/** True if the node has reported no error. */
export const isGood = ({ lines }: Outcome) => !lines.some(isError);

/** Runs an operation in the node. */
export async function runOperation(
	operation: string,
	credential: Credential,
	{ voice = '', service, stop, freeTimeoutMs = FREE_TIMEOUT_MS }: Omit<Plan, 'operations'>,
	taskId = MISSING_TASK,
): Promise<Run> {
	const { contractRow, text = '' } = PAID[operation] ?? {};
	const which = contractRow
		? `${contractRow.resource}:${contractRow.operation}`
		: (FREE[operation] ?? 'speech:wait');
	const options = contractRow ? { timeout: TIMEOUTS[contractRow.kind] } : {};
	const parameters = parametersFor(which, text, { taskId, voice, options });
	const timeout = operation in FREE ? AbortSignal.timeout(freeTimeoutMs) : stop;
	const from = service.exchanges.length;
	const result = await runWorkflow({
		workflow: workflow(node({ ...parameters, returnAll: false, limit: PAGE_SIZE })),
		credentials: { mediaGenerationApi: { ...credential } },
		input: [{ json: {}, binary: { data: image } }],
		signal: AbortSignal.any([timeout, stop]),
	});
	const ended = (stop.aborted && STOPPED) || (timeout.aborted && TIMED_OUT);
	const lines = (ended ? [ended] : linesOf(result)).map(service.withRealOrigins);
	const calls = service.exchanges.slice(from).filter(({ method }) => method !== 'WEBSOCKET');
	return { operation, lines, calls, taskId: result.items(NODE)[0]?.json.task_id };
}

/** Runs operations in the node, one after another, while a trigger listens, and yields what came of each. */
export async function* runAll(plan: Plan, credential: Credential): AsyncGenerator<Run> {
	const { operations, stop } = plan;
	const { exchanges, withRealOrigins } = plan.service;
	const run = async (operation: string, taskId?: string) => {
		plan.before?.(operation);
		return await runOperation(operation, credential, plan, taskId);
	};
	for (const operation of operations.filter((each) => each in FREE)) yield await run(operation);
	const paid = operations.filter((operation) => operation in PAID);
	const events = detectableEvents(paid, exchanges);
	const trigger = events.size > 0 ? await listenFor(credential, events) : undefined;
	const succeeded: string[] = [];
	try {
		for (const operation of paid) {
			if (stop.aborted) return;
			const done = await run(operation);
			yield done;
			if (isGood(done)) succeeded.push(operation);
			if (makesSpeech(operation) && done.taskId) yield await run('collect', String(done.taskId));
		}
		const awaited = detectableEvents(succeeded, exchanges);
		if (awaited.size === 0 || stop.aborted) return;
		plan.before?.('trigger');
		const lines = await trigger!.waitFor(awaited, stop);
		yield { operation: 'trigger', lines: lines.map(withRealOrigins), calls: [] };
	} finally {
		await trigger?.close();
	}
}

/** Activates a trigger that listens for `events`. */
async function listenFor(credential: Credential, events: Set<string>) {
	const detected = new Set<string>();
	const errors: string[] = [];
	const options = { events: [...events], options: { checkInterval: 10 } };
	const response = await activateTrigger(
		{ workflowId: 'check', nodes: [triggerNode(options)], credential },
		(output, _, ending) => {
			detected.add(String(output[0]![0]!.json.event));
			ending?.resolve({} as never);
		},
		({ message }) => errors.push(message),
	).catch(({ message }: Error) => errors.push(message));
	return {
		/**
		 * Waits for the `awaited` events, at most half a minute. An error or `stop` ends the wait. Resolves with the
		 * lines of the outcome.
		 */
		waitFor: async (awaited: Set<string>, stop: AbortSignal) => {
			const missing = () => [...awaited].filter((event) => !detected.has(event));
			const isOver = () => stop.aborted || errors.length > 0 || missing().length === 0;
			await eventually('all events', 30_000, isOver).catch(() => {});
			return [
				...missing().map((event) => `error: it does not detect: ${event}`),
				...[...detected].sort().map((event) => `event: ${event}`),
				...errors.map((text) => `error: ${withoutDurations(text)}`),
			];
		},
		close: async () => {
			if (typeof response === 'object') await response.closeFunction?.();
		},
	};
}

/** True if a line of an outcome reports an error. */
export const isError = (line: string) => line.startsWith('error: ');

/** Replaces durations by `N`, because they differ from run to run. */
const withoutDurations = (text: string) =>
	text.replace(/\d+(?:\.\d+)?(?= (?:s|seconds|ms|minutes)\b)/g, 'N');

/** Returns the lines of an outcome: what a user would notice of a run. */
function linesOf(result: WorkflowResult): string[] {
	const items = result.items(NODE);
	const fields = items.map(({ json }) =>
		Object.entries(json)
			.map(([name, value]) => (name === 'status' ? `status ${JSON.stringify(value)}` : name))
			.sort()
			.join(', '),
	);
	const files = items.flatMap(({ binary = {} }) => Object.values(binary));
	return [
		`items: ${items.length}`,
		...[...new Set(fields)].map((names) => `fields: ${names}`),
		...files.map((file) => `file: ${file.mimeType}, ${file.bytes ?? file.fileSize} bytes`),
		...(result.error ? [`error: ${withoutDurations(result.error.message)}`] : []),
		...result.hints(NODE).map(({ message }) => `hint: ${withoutDurations(message)}`),
	];
}
