/* Runs the node in n8n's own engine, and describes the outcomes. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { PaidOperation } from '../nodes/shared/contract.ts';
import { runWorkflow, type WorkflowResult } from '../demo/engine.mts';
import { node, NODE, parametersFor, workflow } from '../test/faults/workflow.mts';
import { activateTrigger, triggerNode } from '../test/service/triggerNode.mts';
import { eventually } from '../tools/eventually.mts';
import { shared } from './shared.mts';
import { record, type Exchange } from './wire.mts';

interface Paid {
	/** The part of the interface that the operation tests, as the report names it. */
	part: string;
	/** The row of the node's contract. */
	contractRow: PaidOperation;
	/** The text or prompt. It identifies nobody, so the recording keeps it. */
	text: string;
}

const paid = (part: string, contractRow: PaidOperation, text: string): Paid => ({
	...{ part, contractRow, text },
});
const { image, textToVideo, ingredientsToVideo, framesToVideo } = shared.GENERATIONS;
/** The operations that are charged, by the names that `--pay` takes. */
export const PAID: Record<string, Paid> = {
	speech: paid('§4.1–4.2 Speech', shared.SPEAK, 'This is a short test of the speech interface.'),
	image: paid('§4.8 Image', image, 'A red kite above a green hill, in the morning.'),
	video: paid('§4.5 Video from text', textToVideo, 'A red kite rises above a green hill.'),
	ingredients: paid('§4.6 Video from images', ingredientsToVideo, 'The picture, coming nearer.'),
	frames: paid('§4.7 Video from frames', framesToVideo, 'This picture, slowly to the left.'),
	dropped: paid('§6.1 A dropped stream', image, 'A blue kite above a yellow field, at noon.'),
};

/** A task id that no service has given. */
export const MISSING_TASK = '999999999999';
/** The operations that cost nothing, as `resource:operation` of the node. `missing` reads MISSING_TASK. */
export const FREE = {
	account: 'account:get',
	voices: 'voice:getAll',
	history: 'history:getAll',
	missing: 'speech:get',
} as const satisfies Record<string, string>;
export type FreeName = keyof typeof FREE;
export const FREE_OPERATIONS: string[] = Object.keys(FREE);

/** What the check itself does. */
const ASKED = ['socket', 'token', 'pages'];

/**
 * How long a free operation may take, in ms: so long that a slow list is read, and so short that all take less than a
 * minute. The node alone would try for minutes while the service is unavailable.
 */
const FREE_TIMEOUT_MS = 25_000;
/** The node's option **Timeout** for what is charged, in seconds. */
const PAID_TIMEOUT_S = 600;
/**
 * How often the check looks whether anything of a paid operation is in progress, in ms. If nothing is, the check ends it:
 * the node would try until its Timeout. This is long enough for a limit per minute to pass.
 */
const STUCK_CHECK_MS = 60_000;
const STOPPED = 'error: the check was stopped';
const STUCK = 'error: the service did not do it in time, so the check ended it';
/** The lines of outcomes that the check writes itself, so that they identify nobody. */
export const OWN_LINES = [STOPPED, STUCK];

const png = readFileSync(new URL('../simulator/media/image.png', import.meta.url));
const picture = { data: png.toString('base64'), mimeType: 'image/png', fileName: 'image.png' };

export interface Credential {
	apiToken: string;
	baseUrl: string;
	webSocketUrl: string;
	/** True to allow an unencrypted connection to another machine. */
	allowHttp?: boolean;
}

/** What came of an operation, and what was exchanged meanwhile. */
export interface Run {
	operation: string;
	/** What a user would notice, such as `items: 1` or `error: …`. */
	lines: string[];
	exchanges: Exchange[];
	/** The ID of the speech task that was created or read. */
	taskId?: unknown;
}

/** True if it was the node that ran, and to its end. */
export const isOfNode = ({ operation, lines }: Pick<Run, 'operation' | 'lines'>) =>
	!ASKED.includes(operation) && !lines.includes(STOPPED);

/** True if the node has reported no error. */
export const isGood = ({ lines }: Pick<Run, 'lines'>) => !lines.some(isError);
/** True if a line of an outcome reports an error. */
export const isError = (line: string) => line.startsWith('error: ');

/** Runs an operation in the node: a free or paid one, or Collect. Resolves once it has ended or `stop` aborts. */
export async function runOperation(
	operation: string,
	credential: Credential,
	stop: AbortSignal,
	{ voice = '', taskId = MISSING_TASK, hasHistory = true } = {},
): Promise<Run> {
	const { contractRow, text = '' } = PAID[operation] ?? {};
	const which = contractRow
		? `${contractRow.resource}:${contractRow.operation}`
		: (FREE[operation as FreeName] ?? 'speech:wait');
	const options = contractRow ? { timeout: PAID_TIMEOUT_S } : {};
	const parameters = parametersFor(which, text, { taskId, voice, options });
	const voiceId = { __rl: true, mode: 'list', value: voice };
	const exchanges: Exchange[] = [];
	const timeout = new AbortController();
	// After the stream of a generation, only the history may have its file.
	const isCollectable = hasHistory || contractRow?.kind === 'speech';
	const isInProgress = ({ method, path, status, ended }: Exchange) =>
		status > 0 &&
		status < 300 &&
		!path.includes('/histories') &&
		(ended === undefined || (method === 'POST' && isCollectable));
	const timer = setInterval(
		() =>
			operation === 'collect' || (contractRow && exchanges.some(isInProgress)) || timeout.abort(),
		contractRow ? STUCK_CHECK_MS : FREE_TIMEOUT_MS,
	);
	const run = async () =>
		await runWorkflow({
			workflow: workflow(node({ ...parameters, voiceId, returnAll: false, limit: 20 })),
			credentials: { mediaGenerationApi: { ...credential } },
			input: [{ json: {}, binary: { data: picture } }],
			signal: AbortSignal.any([timeout.signal, stop]),
		});
	const result = await record({ exchanges, cutsStreams: operation === 'dropped' }, run);
	clearInterval(timer);
	const ended = (stop.aborted && STOPPED) || (timeout.signal.aborted && STUCK);
	const lines = ended ? [ended] : linesOf(result);
	return { operation, lines, exchanges, taskId: result.items(NODE)[0]?.json.task_id };
}

interface Plan {
	/** The paid operations to run, in this order. */
	pay: string[];
	/** The voice that speaks. Without it, no speech is generated. */
	voice?: string;
	/** What the free operations and the check have shown of the service. */
	known: Array<Pick<Run, 'operation' | 'lines'> & { exchanges: Array<{ status: number }> }>;
	/** Is called with the name of each operation before it begins. */
	before?: (operation: string) => void;
	/** Cancels the operation in progress. No paid operation starts afterwards. */
	stop: AbortSignal;
}

/** Runs paid operations in the node, one after another, while a trigger listens, and yields what came of each. */
export async function* runPaid(
	{ pay, voice, known, before, stop }: Plan,
	credential: Credential,
): AsyncGenerator<Run> {
	const find = (name: string) => known.find(({ operation }) => operation === name);
	// Without a WebSocket, a trigger detects no speech; without the history, a file whose stream was cut is lost.
	const hasSocket = find('socket')?.exchanges[0]?.status === 101;
	const hasHistory = isGood(find('history') ?? { lines: [STOPPED] });
	const isSpeech = (operation: string) => PAID[operation]!.contractRow.kind === 'speech';
	const operations = pay.filter((operation) =>
		isSpeech(operation) ? voice !== undefined : hasHistory || operation !== 'dropped',
	);
	const eventsOf = (paid: string[]) =>
		shared.EVENTS.filter(({ value }) =>
			value === 'completed'
				? hasSocket && paid.some(isSpeech)
				: value === 'generated' && !paid.every(isSpeech),
		);
	const exchanges: Exchange[] = [];
	const detected = new Set<unknown>();
	const errors: string[] = [];
	const onError = ({ message }: Error) => void errors.push(message);
	const events = eventsOf(operations).map(({ value }) => value);
	const nodes = [triggerNode({ events, options: { checkInterval: 10 } })];
	const activate = async () =>
		await activateTrigger(
			{ workflowId: 'check', nodes, credential: { ...credential } },
			(output, _, ending) => {
				detected.add(output[0]![0]!.json.event);
				ending?.resolve({} as never);
			},
			onError,
		).catch(onError);
	// While the history does not respond, this takes most of a minute.
	const activation = events.length > 0 ? record({ exchanges }, activate) : undefined;
	const stopped = once(stop, 'abort').then(() => undefined);
	const trigger = await Promise.race([activation, stopped]);
	const succeeded: string[] = [];
	try {
		for (const operation of operations) {
			if (stop.aborted) break;
			before?.(operation);
			const done = await runOperation(operation, credential, stop, { voice, hasHistory });
			yield done;
			// The others would most likely end in the same way, and may be charged.
			if (done.lines.includes(STUCK)) break;
			if (isGood(done)) succeeded.push(operation);
			if (isSpeech(operation) && done.taskId)
				yield await runOperation('collect', credential, stop, { taskId: String(done.taskId) });
		}
		if (events.length === 0) return;
		if (!stop.aborted) before?.('trigger');
		const missing = () => eventsOf(succeeded).filter(({ value }) => !detected.has(value));
		const isOver = () => stop.aborted || errors.length > 0 || missing().length === 0;
		// A message about speech comes no later than its file, unlike an entry in the history.
		const patienceMs = missing().some(({ value }) => value === 'generated') ? 30_000 : 10_000;
		await eventually('all events', patienceMs, isOver).catch(() => {});
		const found = shared.EVENTS.filter(({ value }) => detected.has(value));
		const lines = [
			...missing().map(({ name }) => `error: it does not detect: ${name}`),
			...found.map(({ name }) => `event: ${name}`),
			...errors.map((text) => `error: ${text}`),
		];
		// Even if nothing was made, its WebSocket has the messages about the other operations.
		yield { operation: 'trigger', lines: stop.aborted ? [] : lines, exchanges };
	} finally {
		await trigger?.closeFunction?.();
	}
}

/** Returns the lines of an outcome: what a user would notice of a run. */
function linesOf(result: WorkflowResult): string[] {
	const items = result.items(NODE);
	// The duration is read from the file, of which the recording keeps only the type.
	const fields = items.map(({ json: { duration_seconds: _, ...json } }) =>
		Object.keys(json).sort().join(', '),
	);
	const files = items.flatMap(({ binary = {} }) => Object.values(binary));
	return [
		`items: ${items.length}`,
		...[...new Set(fields)].map((names) => `fields: ${names}`),
		...files.map((file) => `file: ${file.mimeType}, ${file.bytes ?? file.fileSize} bytes`),
		...(result.error ? [`error: ${result.error.message}`] : []),
		...result.hints(NODE).map(({ message }) => `hint: ${message}`),
	];
}
