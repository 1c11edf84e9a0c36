/* The node itself in n8n's own engine: what it is made to do, and what came of it. */
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
	/** The part of the interface that it shows. */
	part: string;
	of: PaidOperation;
	/** The text or prompt. */
	text: string;
	sends: string;
}

/** What costs, what is sent for it, and where. */
export const PAID: Record<string, Paid> = {
	speech: {
		...{ part: '§4.1–4.2 Speech', of: SPEAK },
		text: 'This is a short test of the speech interface.',
		sends: 'one text of 45 characters, then Collect of the same task',
	},
	image: {
		...{ part: '§4.8 Image', of: GENERATIONS.image, sends: 'one image' },
		text: 'A red kite above a green hill, in the morning.',
	},
	video: {
		...{ part: '§4.5 Video from text', of: GENERATIONS.textToVideo },
		...{ text: 'A red kite rises above a green hill.', sends: 'one video, landscape' },
	},
	ingredients: {
		...{ part: '§4.6 Video from images', of: GENERATIONS.ingredientsToVideo },
		text: 'The picture, slowly coming nearer.',
		sends: 'one video from an image of 48 kB',
	},
	frames: {
		...{ part: '§4.7 Video from frames', of: GENERATIONS.framesToVideo },
		...{ text: 'From this picture, slowly to the left.', sends: 'one video from the same image' },
	},
	dropped: {
		...{ part: '§6.1 A dropped stream', of: GENERATIONS.image },
		text: 'A blue kite above a yellow field, at noon.',
		sends: 'one more image, whose stream the check cuts',
	},
};

const FREE: Record<string, string> = {
	account: 'account:get',
	voices: 'voice:getAll',
	history: 'history:getAll',
	missing: 'speech:get',
};
export const FREE_OPERATIONS = Object.keys(FREE);

export const makesSpeech = (operation: string) => PAID[operation]?.of.kind === 'speech';

/** What a trigger can hear of these operations: of speech tasks, nothing without a WebSocket. */
function heardOf(operations: string[], exchanges: Exchange[]): Set<string> {
	const hasSocket = exchanges.some((each) => each.method === 'WEBSOCKET' && each.status === 101);
	const heard = operations.filter((each) => PAID[each] && (hasSocket || !makesSpeech(each)));
	return new Set(heard.map((each) => (makesSpeech(each) ? 'completed' : 'generated')));
}

/** How long the node may take for what costs nothing, in ms: while a service is away, it would try for minutes. */
const FREE_MS = 12_000;
/** How long it waits for a result, in seconds. */
const TIMEOUTS = { speech: 300, video: 600, image: 180 };
export const LATE = 'error: still trying when the check ended it, after 12 s';
export const STOPPED = 'error: the check was stopped';

const png = readFileSync(new URL('../simulator/media/image.png', import.meta.url));
const image = { data: png.toString('base64'), mimeType: 'image/png', fileName: 'image.png' };

export type Credential = { apiToken: string; baseUrl: string; webSocketUrl: string };

interface Plan extends Pick<Recording, 'voice' | 'exchanges'> {
	/** Those that do not follow from others, in order. */
	operations: string[];
	/** Hears of each operation before it begins. */
	before?: (operation: string) => void;
	/** Ends what the node is doing, and all that would follow. */
	stop?: AbortSignal;
}

/** Makes the node do all of it, a trigger beside it; yields what came of each operation. */
export async function* runAll(
	{ operations, voice, exchanges, before, stop = new AbortController().signal }: Plan,
	credential: Credential,
): AsyncGenerator<Outcome> {
	const run = async (operation: string, taskId = MISSING_TASK) => {
		before?.(operation);
		const { of, text = '' } = PAID[operation] ?? {};
		const which = of ? `${of.resource}:${of.operation}` : (FREE[operation] ?? 'speech:wait');
		const options = of ? { timeout: TIMEOUTS[of.kind] } : {};
		const parameters = parametersFor(which, text, { taskId, voice: voice ?? '', options });
		const late = operation in FREE ? AbortSignal.timeout(FREE_MS) : stop;
		const result = await runWorkflow({
			workflow: workflow(node({ ...parameters, returnAll: false, limit: 5 })),
			credentials: { mediaGenerationApi: { ...credential } },
			input: [{ json: {}, binary: { data: image } }],
			signal: AbortSignal.any([late, stop]),
		});
		const ended = (stop.aborted && STOPPED) || (late.aborted && LATE);
		const lines = ended ? [ended] : linesOf(result);
		return { operation, lines, taskId: result.items(NODE)[0]?.json.task_id };
	};
	const lists = operations.filter((operation) => operation in FREE && operation !== 'missing');
	yield* await Promise.all(lists.map(async (operation) => await run(operation)));
	if (operations.includes('missing')) yield await run('missing');
	const paid = operations.filter((operation) => operation in PAID);
	const heard = heardOf(paid, exchanges);
	const trigger = heard.size > 0 ? await listen(credential, heard) : undefined;
	const made: string[] = [];
	try {
		for (const operation of paid) {
			if (stop.aborted) return;
			const outcome = await run(operation);
			yield outcome;
			if (!outcome.lines.some(isError)) made.push(operation);
			if (makesSpeech(operation) && outcome.taskId)
				yield await run('collect', String(outcome.taskId));
		}
		const awaited = heardOf(made, exchanges);
		if (awaited.size === 0 || stop.aborted) return;
		before?.('trigger');
		yield { operation: 'trigger', lines: await trigger!.heard(awaited, stop) };
	} finally {
		await trigger?.close();
	}
}

/** A trigger that listens for these events. */
async function listen(credential: Credential, events: Set<string>) {
	const heard = new Set<string>();
	const errors: string[] = [];
	const options = { events: [...events], options: { checkInterval: 10 } };
	const response = await activateTrigger(
		{ workflowId: 'check', nodes: [triggerNode(options)], credential },
		(output, _, ending) => {
			heard.add(String(output[0]![0]!.json.event));
			ending?.resolve({} as never);
		},
		({ message }) => errors.push(message),
	).catch(({ message }: Error) => errors.push(message));
	return {
		/** Waits for what is to come, half a minute at most. */
		heard: async (awaited: Set<string>, stop: AbortSignal) => {
			const missing = () => [...awaited].filter((event) => !heard.has(event));
			const isOver = () => stop.aborted || errors.length > 0 || missing().length === 0;
			await eventually('all events', 30_000, isOver).catch(() => {});
			return [
				...missing().map((event) => `error: it does not detect: ${event}`),
				...[...heard].sort().map((event) => `event: ${event}`),
				...errors.map((text) => `error: ${steady(text)}`),
			];
		},
		close: async () => {
			if (typeof response === 'object') await response.closeFunction?.();
		},
	};
}

/** Whether a line of an outcome says that nothing came out. */
export const isError = (line: string) => line.startsWith('error: ');

const steady = (text: string) => text.replace(/\d+(?:\.\d+)?(?= (?:s|seconds|ms|minutes)\b)/g, 'N');

/** What a builder would notice, without what differs from run to run. */
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
		...(result.error ? [`error: ${steady(result.error.message)}`] : []),
		...result.hints(NODE).map(({ message }) => `hint: ${steady(message)}`),
	];
}
