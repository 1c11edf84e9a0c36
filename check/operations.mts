/* Runs the node in n8n's own engine, and describes the outcomes. */
import { readFileSync } from 'node:fs';
import type { PaidOperation } from '../nodes/shared/contract.ts';
import { runWorkflow, type WorkflowResult } from '../demo/engine.mts';
import { node, NODE, parametersFor, workflow } from '../test/faults/workflow.mts';
import { activateTrigger, triggerNode } from '../test/service/triggerNode.mts';
import { eventually } from '../tools/eventually.mts';
import { MISSING_TASK, type Outcome, type Recording } from './recording.mts';
import { GENERATIONS, SPEAK } from './reading.mts';
import type { Exchange } from './wire.mts';

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
		...{ part: '§4.1–4.2 Speech', contractRow: SPEAK },
		text: 'This is a short test of the speech interface.',
		charges: 'one text of 45 characters, then Collect of the same task',
	},
	image: {
		...{ part: '§4.8 Image', contractRow: GENERATIONS.image, charges: 'one image' },
		text: 'A red kite above a green hill, in the morning.',
	},
	video: {
		...{ part: '§4.5 Video from text', contractRow: GENERATIONS.textToVideo },
		...{ text: 'A red kite rises above a green hill.', charges: 'one video, landscape' },
	},
	ingredients: {
		...{ part: '§4.6 Video from images', contractRow: GENERATIONS.ingredientsToVideo },
		text: 'The picture, slowly coming nearer.',
		charges: 'one video from an image of 48 kB',
	},
	frames: {
		...{ part: '§4.7 Video from frames', contractRow: GENERATIONS.framesToVideo },
		...{ text: 'From this picture, slowly to the left.', charges: 'one video from the same image' },
	},
	dropped: {
		...{ part: '§6.1 A dropped stream', contractRow: GENERATIONS.image },
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

/** How long a free operation may take, in ms. The node alone would try for minutes while the service is unavailable. */
const FREE_TIMEOUT_MS = 12_000;
/** The node's option **Timeout** for each kind of media, in seconds. */
const TIMEOUTS = { speech: 300, video: 600, image: 180 };
export const TIMED_OUT = 'error: still trying when the check ended it, after 12 s';
export const STOPPED = 'error: the check was stopped';

const png = readFileSync(new URL('../simulator/media/image.png', import.meta.url));
const image = { data: png.toString('base64'), mimeType: 'image/png', fileName: 'image.png' };

export type Credential = { apiToken: string; baseUrl: string; webSocketUrl: string };

interface Plan extends Pick<Recording, 'voice' | 'exchanges'> {
	/** The free and paid operations to run. Other names are ignored: Collect and the trigger follow by themselves. */
	operations: string[];
	/** Is called with the name of each operation before it begins. */
	before?: (operation: string) => void;
	/** Cancels the operation in progress. No paid operation starts afterwards. */
	stop?: AbortSignal;
	/** The time limit of each free operation, in ms. */
	freeTimeoutMs?: number;
}

/** Runs the operations in the node while a trigger listens, and yields the outcome of each. */
export async function* runAll(plan: Plan, credential: Credential): AsyncGenerator<Outcome> {
	const { operations, voice, exchanges, before, freeTimeoutMs = FREE_TIMEOUT_MS } = plan;
	const { stop = new AbortController().signal } = plan;
	const run = async (operation: string, taskId = MISSING_TASK) => {
		before?.(operation);
		const { contractRow, text = '' } = PAID[operation] ?? {};
		const which = contractRow
			? `${contractRow.resource}:${contractRow.operation}`
			: (FREE[operation] ?? 'speech:wait');
		const options = contractRow ? { timeout: TIMEOUTS[contractRow.kind] } : {};
		const parameters = parametersFor(which, text, { taskId, voice: voice ?? '', options });
		const timeout = operation in FREE ? AbortSignal.timeout(freeTimeoutMs) : stop;
		const result = await runWorkflow({
			workflow: workflow(node({ ...parameters, returnAll: false, limit: 5 })),
			credentials: { mediaGenerationApi: { ...credential } },
			input: [{ json: {}, binary: { data: image } }],
			signal: AbortSignal.any([timeout, stop]),
		});
		const ended = (stop.aborted && STOPPED) || (timeout.aborted && TIMED_OUT);
		const lines = ended ? [ended] : linesOf(result);
		return { operation, lines, taskId: result.items(NODE)[0]?.json.task_id };
	};
	const lists = operations.filter((operation) => operation in FREE && operation !== 'missing');
	yield* await Promise.all(lists.map(async (operation) => await run(operation)));
	if (operations.includes('missing')) yield await run('missing');
	const paid = operations.filter((operation) => operation in PAID);
	const events = detectableEvents(paid, exchanges);
	const trigger = events.size > 0 ? await listenFor(credential, events) : undefined;
	const succeeded: string[] = [];
	try {
		for (const operation of paid) {
			if (stop.aborted) return;
			const outcome = await run(operation);
			yield outcome;
			if (!outcome.lines.some(isError)) succeeded.push(operation);
			if (makesSpeech(operation) && outcome.taskId)
				yield await run('collect', String(outcome.taskId));
		}
		const awaited = detectableEvents(succeeded, exchanges);
		if (awaited.size === 0 || stop.aborted) return;
		before?.('trigger');
		yield { operation: 'trigger', lines: await trigger!.waitFor(awaited, stop) };
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
