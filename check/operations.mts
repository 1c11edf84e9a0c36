/* The node itself in n8n's own engine: what it is made to do, and what came of it. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { IDataObject } from 'n8n-workflow';
import type { PaidOperation } from '../nodes/shared/contract.ts';
import { runWorkflow, type WorkflowResult } from '../demo/engine.mts';
import { node, NODE, workflow } from '../test/faults/workflow.mts';
import { activateTrigger, triggerNode } from '../test/service/triggerNode.mts';
import { MISSING_TASK, type Outcome } from './recording.mts';
import { GENERATIONS, SPEAK } from './reading.mts';

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

/** What costs, what is sent for it, and where. */
export const PAID: Record<string, { part: string; of: PaidOperation; sends: string }> = {
	speech: {
		...{ part: '§4.1–4.2 Speech', of: SPEAK },
		sends: `one text of ${TEXT.length} characters, then Collect of the same task`,
	},
	image: { part: '§4.8 Image', of: GENERATIONS.image, sends: 'one image' },
	video: {
		...{ part: '§4.5 Video from text', of: GENERATIONS.textToVideo },
		sends: 'one video, landscape',
	},
	ingredients: {
		...{ part: '§4.6 Video from images', of: GENERATIONS.ingredientsToVideo },
		sends: 'one video from an image of 48 kB',
	},
	frames: {
		...{ part: '§4.7 Video from frames', of: GENERATIONS.framesToVideo },
		sends: 'one video from the same image',
	},
	dropped: {
		...{ part: '§6.1 A dropped stream', of: GENERATIONS.image },
		sends: 'one more image, whose stream the check cuts',
	},
};

export const makesSpeech = (operation: string) => PAID[operation]?.of.kind === 'speech';

/** What the trigger tells of it. */
export const eventOf = (operation: string) => (makesSpeech(operation) ? 'completed' : 'generated');

export const FREE = ['account', 'voices', 'history', 'missing'];
/** How long the node may take for what costs nothing, in ms: while a service is away, it would try for minutes. */
const FREE_MS = 12_000;
export const LATE = 'error: the node goes on trying for minutes';

const list = { operation: 'getAll', returnAll: false, limit: 5, options: {} };
const generation = (
	{ resource, operation }: { resource: string; operation: string },
	prompt: string,
	{ timeout = 600, ...more }: IDataObject = {},
) => ({ resource, operation, prompt, ...more, options: { timeout, prompt } });

function parametersOf(operation: string, voice: string, taskId: string): IDataObject {
	const given = { binaryPropertyName: 'data' };
	const options = { timeout: 300 };
	const voiceId = { __rl: true, mode: 'id', value: voice };
	const all: Record<string, IDataObject> = {
		account: { resource: 'account', operation: 'get' },
		voices: { resource: 'voice', ...list },
		history: { resource: 'history', ...list },
		missing: { resource: 'speech', operation: 'get', taskId: MISSING_TASK, options: {} },
		speech: { resource: 'speech', operation: 'speak', text: TEXT, voiceId, options },
		collect: { resource: 'speech', operation: 'wait', taskId, options },
		image: generation(GENERATIONS.image, PROMPTS.image, { timeout: 180 }),
		video: generation(GENERATIONS.textToVideo, PROMPTS.video),
		ingredients: generation(GENERATIONS.ingredientsToVideo, PROMPTS.ingredients, given),
		frames: generation(GENERATIONS.framesToVideo, PROMPTS.frames, given),
		dropped: generation(GENERATIONS.image, PROMPTS.dropped, { timeout: 180 }),
	};
	return all[operation]!;
}

const png = readFileSync(new URL('../simulator/media/image.png', import.meta.url));
const image = { data: png.toString('base64'), mimeType: 'image/png', fileName: 'image.png' };

type Credential = { apiToken: string; baseUrl: string; webSocketUrl: string };

/** Makes the node do all of it, one after another, a trigger beside it; `before` hears of each. */
export async function runAll(
	operations: string[],
	credential: Credential,
	voice = '',
	before: (operation: string) => void = () => {},
): Promise<Outcome[]> {
	const outcomes: Outcome[] = [];
	const creates = operations.filter((operation) => operation in PAID);
	const awaited = creates.map(eventOf);
	const trigger = creates.length > 0 ? await listen(credential, awaited) : undefined;
	const all = operations.flatMap((each) => (makesSpeech(each) ? [each, 'collect'] : each));
	try {
		let taskId = '';
		for (const operation of all) {
			if (operation === 'collect' && taskId === '') continue;
			before(operation);
			const signal = FREE.includes(operation) ? AbortSignal.timeout(FREE_MS) : undefined;
			const result = await runWorkflow({
				workflow: workflow(node(parametersOf(operation, voice, taskId))),
				credentials: { mediaGenerationApi: { ...credential } },
				input: [{ json: {}, binary: { data: image } }],
				signal,
			});
			taskId = String(result.items(NODE)[0]?.json.task_id ?? '');
			outcomes.push({ operation, lines: signal?.aborted ? [LATE] : linesOf(result) });
		}
		if (trigger) before('trigger');
		if (trigger) outcomes.push({ operation: 'trigger', lines: await trigger.heard() });
	} finally {
		await trigger?.close();
	}
	return outcomes;
}

/** A trigger that hears of all that is made. */
async function listen(credential: Credential, awaited: string[]) {
	const events = new Set<string>();
	const errors: string[] = [];
	const over = new AbortController();
	const options = { events: ['completed', 'failed', 'generated'], options: { checkInterval: 10 } };
	const response = await activateTrigger(
		{ workflowId: 'check', nodes: [triggerNode(options)], credential },
		(output, _, ending) => {
			events.add(String(output[0]![0]!.json.event));
			ending?.resolve({} as never);
			if (awaited.every((event) => events.has(event))) over.abort();
		},
		({ message }) => errors.push(message),
	).catch(({ message }: Error) => {
		errors.push(message);
		over.abort();
	});
	return {
		/** Waits for what is to come, half a minute at most. */
		heard: async () => {
			await pause(30_000, undefined, { signal: over.signal }).catch(() => {});
			const heard = [...events].sort().map((event) => `event: ${event}`);
			return [...heard, ...errors.map((text) => `error: ${steady(text)}`)];
		},
		close: async () => await (response || undefined)?.closeFunction?.(),
	};
}

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
