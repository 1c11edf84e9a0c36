/* Runs the node in n8n's own engine, and describes the outcomes. */
import { readFileSync } from 'node:fs';
import type { PaidOperation } from '../nodes/shared/contract.ts';
import { runWorkflow, type WorkflowResult } from '../demo/engine.mts';
import { node, NODE, parametersFor, workflow } from '../test/faults/workflow.mts';
import { activateTrigger, triggerNode } from '../test/service/triggerNode.mts';
import { eventually } from '../tools/eventually.mts';
import { shared } from './shared.mts';
import { record, type Exchange } from './wire.mts';

/**
 * `part` is what the operation tests, as the report names it, and `contractRow` the row of the node's contract. The text or
 * prompt identifies nobody, so the recording keeps it.
 */
const paid = (part: string, contractRow: PaidOperation, text: string) => ({
	part,
	contractRow,
	text,
});
const { image, textToVideo, ingredientsToVideo, framesToVideo } = shared.GENERATIONS;
/** The operations that are charged, by the names that `--pay` takes. */
export const PAID: Record<string, ReturnType<typeof paid>> = {
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

/**
 * How long a free operation may take since its first request, in ms: so long that a slow list is read, and so short that all
 * take less than a minute. The node alone would try for minutes while the service is unavailable.
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
const STUCK = 'error: there was no result in time, so the check ended it';
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

/** What came of an operation of the node, or of what the check itself asks, and what was exchanged meanwhile. */
export interface Run {
	operation: string;
	/** What a user would notice, such as `items: 1` or `error: …`. What the check itself asks has none. */
	lines: string[];
	exchanges: Exchange[];
	/** The ID of the speech task that was created or read. */
	taskId?: unknown;
}

/** What is done with a service. */
export interface Session {
	credential: Credential;
	/** All runs, each from its beginning, so that nothing is lost if the check is stopped. */
	runs: Run[];
	/** Is called with what is being done. */
	onStep?: (what: string) => void;
	/** In a replay, what was recorded. Then nothing is ended for taking too long. */
	recorded?: Run[];
}

/** Adds a run to a session. While it lasts, its outcome is that the check was stopped. */
export function startRun({ runs }: Session, operation: string, lines = [STOPPED]): Run {
	const run: Run = { operation, lines, exchanges: [] };
	runs.push(run);
	return run;
}

/** True if the node has reported no error. */
export const isGood = ({ lines }: Run) => !lines.some(isError);
/** True if a line of an outcome reports an error. */
export const isError = (line: string) => line.startsWith('error: ');

/** What an operation of the node is given. */
interface Input {
	text?: string;
	taskId?: string;
	voice?: string;
	options?: { timeout: number };
	cutsStreams?: boolean;
	/** The operation is ended if this returns true; it is asked every `everyMs` ms. */
	isStuck?: (exchanges: Exchange[]) => boolean;
	everyMs?: number;
}

const isSlow = ([first]: Exchange[]) => Date.now() - (first?.at ?? Date.now()) > FREE_TIMEOUT_MS;

/** Runs an operation, such as `voice:getAll`, in the node. */
export async function runNode(
	session: Session,
	name: string,
	which: string,
	{ text = '', taskId = MISSING_TASK, voice = '', options, cutsStreams, ...limit }: Input = {},
): Promise<Run> {
	const run = startRun(session, name);
	const parameters = parametersFor(which, text, { taskId, voice, options });
	const voiceId = { __rl: true, mode: 'list', value: voice };
	const timeout = new AbortController();
	const { isStuck = isSlow, everyMs = 500 } = limit;
	const timer = setInterval(() => {
		if (!session.recorded && isStuck(run.exchanges)) timeout.abort();
	}, everyMs);
	const act = async () =>
		await runWorkflow({
			workflow: workflow(node({ ...parameters, voiceId, returnAll: false, limit: 20 })),
			credentials: { mediaGenerationApi: { ...session.credential } },
			input: [{ json: {}, binary: { data: picture } }],
			signal: timeout.signal,
			onMessage: (text) => session.onStep?.(text.replace(/^.*?: /, '')),
		});
	const result = await record({ exchanges: run.exchanges, cutsStreams }, act);
	clearInterval(timer);
	run.lines = timeout.signal.aborted ? [STUCK] : linesOf(result);
	run.taskId = result.items(NODE)[0]?.json.task_id;
	return run;
}

/** Runs free operations, at the same time; by default all. */
export const runFree = async (session: Session, names = Object.keys(FREE) as FreeName[]) =>
	await Promise.all(names.map((name) => runNode(session, name, FREE[name])));

/** Runs paid operations in the node, one after another, while a trigger listens. Without a voice, nothing is spoken. */
export async function runPaid(session: Session, pay: string[], voice?: string): Promise<void> {
	const { recorded, runs, credential, onStep = () => {} } = session;
	const find = (name: string) => (recorded ?? runs).find(({ operation }) => operation === name);
	// Without a WebSocket, a trigger detects no speech; without the history, a file whose stream was cut is lost.
	const hasSocket = find('socket')?.exchanges[0]?.status === 101;
	const hasHistory = isGood(find('history')!);
	const isSpeech = (name: string) => PAID[name]!.contractRow.kind === 'speech';
	const operations = pay.filter((name) =>
		isSpeech(name) ? voice !== undefined : hasHistory || name !== 'dropped',
	);
	const eventsOf = (paid: string[]) =>
		shared.EVENTS.filter(({ value }) =>
			value === 'completed'
				? hasSocket && paid.some(isSpeech)
				: value === 'generated' && !paid.every(isSpeech),
		);
	const events = eventsOf(operations).map(({ value }) => value);
	const detected = new Set<unknown>();
	const errors: string[] = [];
	const onError = ({ message }: Error) => void errors.push(message);
	const listen = async () => {
		const nodes = [triggerNode({ events, options: { checkInterval: 10 } })];
		return await activateTrigger(
			{ workflowId: 'check', nodes, credential: { ...credential } },
			(output, _, ending) => {
				detected.add(output[0]![0]!.json.event);
				ending?.resolve({} as never);
			},
			onError,
		).catch(onError);
	};
	const listening = events.length > 0 ? startRun(session, 'trigger') : undefined;
	// While the history does not respond, this takes most of a minute.
	const trigger = listening && (await record(listening, listen));
	const succeeded: string[] = [];
	for (const name of operations) {
		onStep(`the node: ${name}`);
		const { contractRow, text } = PAID[name]!;
		// After the stream of a generation, only the history may have its file.
		const isCollectable = hasHistory || isSpeech(name);
		const isStuck = (exchanges: Exchange[]) => {
			const isRecent = ({ at }: Exchange) => Date.now() - at < STUCK_CHECK_MS;
			// A service that has died does not answer anymore.
			const isAnswering = exchanges.some((each) => each.status > 0 && isRecent(each));
			const isInProgress = ({ method, path, status, ended }: Exchange) =>
				status > 0 &&
				status < 300 &&
				!path.includes('/histories') &&
				(ended === undefined || (method === 'POST' && isCollectable && isAnswering));
			return !exchanges.some(isInProgress);
		};
		const limit = { options: { timeout: PAID_TIMEOUT_S }, isStuck, everyMs: STUCK_CHECK_MS };
		const run = await runNode(session, name, `${contractRow.resource}:${contractRow.operation}`, {
			...{ text, voice, cutsStreams: name === 'dropped', ...limit },
		});
		// The others would most likely end in the same way, and may be charged.
		if (run.lines.includes(STUCK)) break;
		if (isGood(run)) succeeded.push(name);
		// In a replay, what the check had ended would not end.
		const wasEnded = OWN_LINES.includes(find('collect')?.lines[0] ?? '');
		if (!isSpeech(name) || !run.taskId || wasEnded) continue;
		const taskId = String(run.taskId);
		const collecting = await runNode(session, 'collect', 'speech:wait', { taskId, ...limit });
		if (collecting.lines.includes(STUCK)) break;
	}
	if (!listening) return;
	onStep('the node: trigger');
	const missing = () => eventsOf(succeeded).filter(({ value }) => !detected.has(value));
	const isOver = () => errors.length > 0 || missing().length === 0;
	const lineOf = ({ name }: { name: string }) => `event: ${name}`;
	// What was detected when it was recorded is waited for longer, because this machine may be busy.
	const isDue = () => missing().some((each) => find('trigger')?.lines.includes(lineOf(each)));
	// A message about speech comes no later than its file, unlike an entry in the history.
	const patienceMs = missing().some(({ value }) => value === 'generated') ? 30_000 : 10_000;
	let rounds = 0;
	do await eventually('all events', patienceMs, isOver).catch(() => {});
	while (!isOver() && isDue() && ++rounds < 3);
	listening.lines = [
		...missing().map(({ name }) => `error: it does not detect: ${name}`),
		...shared.EVENTS.filter(({ value }) => detected.has(value)).map(lineOf),
		...errors.map((text) => `error: ${text}`),
	];
	await trigger?.closeFunction?.();
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
