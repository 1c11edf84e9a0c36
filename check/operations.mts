/* The node itself in n8n's own engine: what it is made to do, and what came of it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { runWorkflow, type WorkflowResult } from '../demo/engine.mts';
import { node, NODE, workflow } from '../test/faults/workflow.mts';
import { activateTrigger, triggerNode } from '../test/service/triggerNode.mts';
import { MISSING_TASK, type Outcome } from './recording.mts';

const TEXT = 'This is a short test of the speech interface.';
const PROMPTS = {
	image: 'A red kite above a green hill, in the morning.',
	video: 'A red kite rises above a green hill.',
	ingredients: 'The picture, slowly coming nearer.',
	frames: 'From this picture, slowly to the left.',
	dropped: 'A blue kite above a yellow field, at noon.',
};

/** What the check says itself: it stays in the recording. */
export const OWN_TEXTS = [TEXT, ...Object.values(PROMPTS)];

/** What is sent, for the person who pays for it. */
export const PAID: Record<string, string> = {
	speech: `one text of ${TEXT.length} characters, then Collect of the same task`,
	image: 'one image',
	video: 'one video, landscape',
	ingredients: 'one video from an image of 48 kB',
	frames: 'one video from the same image',
	dropped: 'one more image, whose stream the check cuts',
};

export const FREE = ['account', 'voices', 'history', 'missing'];

/** How long the node may take for what costs nothing, in ms. */
const FREE_MS = 12_000;
export const LATE = 'error: the node goes on trying for minutes';

interface Place {
	credential: { apiToken: string; baseUrl: string; webSocketUrl: string };
	voice?: string;
}

const list = (resource: string) => ({ resource, operation: 'getAll', returnAll: false, limit: 5 });
const generation = (
	resource: string,
	operation: string,
	prompt: string,
	more: IDataObject = {},
) => {
	return { ...{ resource, operation, prompt }, ...more, options: { timeout: 900, prompt } };
};

function parametersOf(operation: string, voice: string, taskId: string): IDataObject {
	const given = { binaryPropertyName: 'data' };
	switch (operation) {
		case 'account':
			return { resource: 'account', operation: 'get' };
		case 'voices':
			return { ...list('voice'), options: {} };
		case 'history':
			return { ...list('history'), options: {} };
		case 'missing':
			return { resource: 'speech', operation: 'get', taskId: MISSING_TASK, options: {} };
		case 'collect':
			return { resource: 'speech', operation: 'wait', taskId, options: { timeout: 600 } };
		case 'speech': {
			const voiceId = { __rl: true, mode: 'id', value: voice };
			return {
				resource: 'speech',
				operation: 'speak',
				text: TEXT,
				voiceId,
				options: { timeout: 600 },
			};
		}
		case 'image':
		case 'dropped':
			return generation('image', 'create', PROMPTS[operation]);
		case 'video':
			return generation('video', 'textToVideo', PROMPTS.video);
		case 'ingredients':
			return generation('video', 'ingredientsToVideo', PROMPTS.ingredients, given);
		case 'frames':
			return generation('video', 'framesToVideo', PROMPTS.frames, given);
		default:
			throw new Error(
				`There is nothing called "${operation}": ${[...FREE, ...Object.keys(PAID)].join(', ')}`,
			);
	}
}

function image(): INodeExecutionData {
	const png = readFileSync(fileURLToPath(new URL('../simulator/media/image.png', import.meta.url)));
	const data = { data: png.toString('base64'), mimeType: 'image/png', fileName: 'image.png' };
	return { json: {}, binary: { data } };
}

/** Makes the node do all of it, one after another, a trigger beside it; `before` hears of each. */
export async function runAll(
	operations: string[],
	place: Place,
	before: (operation: string) => void,
): Promise<Outcome[]> {
	const outcomes: Outcome[] = [];
	const creates = operations.filter((operation) => operation in PAID);
	const awaited = new Set(
		creates.map((operation) => (operation === 'speech' ? 'completed' : 'generated')),
	);
	const listening = creates.length > 0 ? await listen(place, awaited) : undefined;
	try {
		let taskId = '';
		for (const operation of operations.flatMap((each) =>
			each === 'speech' ? [each, 'collect'] : each,
		)) {
			if (operation === 'collect' && taskId === '') continue;
			before(operation);
			// While the service is away, the node would go on trying for minutes.
			const signal = FREE.includes(operation) ? AbortSignal.timeout(FREE_MS) : undefined;
			const result = await runWorkflow({
				workflow: workflow(node(parametersOf(operation, place.voice ?? '', taskId))),
				credentials: { mediaGenerationApi: { ...place.credential } },
				input: [image()],
				signal,
			});
			taskId = String(result.items(NODE)[0]?.json.task_id ?? '');
			const lines = signal?.aborted ? [LATE] : linesOf(result);
			outcomes.push({ operation, lines });
		}
		if (listening) before('trigger');
		if (listening) outcomes.push({ operation: 'trigger', lines: await listening.heard() });
	} finally {
		await listening?.close();
	}
	return outcomes;
}

/** A trigger that hears of all that is made. */
async function listen({ credential }: Place, awaited: Set<string>) {
	const events = new Set<string>();
	const errors: string[] = [];
	const node = triggerNode({
		events: ['completed', 'failed', 'generated'],
		options: { checkInterval: 10 },
	});
	let changed = () => {};
	let error: string | undefined;
	const response = await activateTrigger(
		{ workflowId: 'check', nodes: [node], credential },
		(output, _, ending) => {
			events.add(String(output[0]![0]!.json.event));
			ending?.resolve({} as never);
			changed();
		},
		({ message }) => errors.push(steady(message)),
	).catch(({ message }: Error) => void (error = steady(message)));
	const isDone = () => error !== undefined || [...awaited].every((event) => events.has(event));
	return {
		/** Waits for what is to come, half a minute at most. */
		async heard() {
			await new Promise<void>((resolve) => {
				const timer = setTimeout(resolve, 30_000);
				changed = () => {
					if (!isDone()) return;
					clearTimeout(timer);
					resolve();
				};
				changed();
			});
			const heard = [...events].sort().map((event) => `event: ${event}`);
			return [
				...heard,
				...(error === undefined ? [] : [`error: ${error}`]),
				...errors.map((text) => `error: ${text}`),
			];
		},
		close: async () => await (response || undefined)?.closeFunction?.(),
	};
}

const steady = (text: string) => text.replace(/\d+(?:\.\d+)?(?= (?:s|seconds|ms|minutes)\b)/g, 'N');

/** What a builder would notice, without what differs from run to run. */
function linesOf(result: WorkflowResult): string[] {
	const items = result.items(NODE);
	const fields = ({ json }: INodeExecutionData) =>
		Object.entries(json)
			.map(([name, value]) => (name === 'status' ? `status ${JSON.stringify(value)}` : name))
			.sort()
			.join(', ');
	const files = items.flatMap(({ binary = {} }) => Object.values(binary));
	return [
		`items: ${items.length}`,
		...new Set(items.map((item) => `fields: ${fields(item)}`)),
		...files.map(
			({ mimeType, bytes, fileSize }) => `file: ${mimeType}, ${bytes ?? fileSize} bytes`,
		),
		...(result.error ? [`error: ${steady(result.error.message)}`] : []),
		...result.hints(NODE).map(({ message }) => `hint: ${steady(message)}`),
	];
}
