import type { IDataObject, INode, INodeExecutionData } from 'n8n-workflow';
import { startWorkflow, type WorkflowResult } from '../../demo/engine.mts';
import { findToken } from '../faults/canary.mts';
import { saved } from '../faults/check.mts';
import { isPaid, OPERATIONS } from '../faults/stage.mts';
import { NODE, workflowOf } from '../faults/workflow.mts';
import type { Random } from './random.mts';

/** One run of the node against the hostile service, and what must hold for it. */

/** How late a run may end, for n8n's and the machine's part in it. */
const LATE_MS = 6000;
/** How long speech waits for the socket; the create call then has the whole timeout. */
const OPENING_MS = 3000;

export interface Plan {
	seed: number;
	operation: (typeof OPERATIONS)[number];
	parameters: IDataObject;
	node: Partial<INode>;
	items: number;
	mode: 'manual' | 'trigger';
	cancelAfterMs: number | undefined;
	/** When it must be over, canceled or not. */
	mostMs: number;
}

export function planOf(random: Random, seed: number): Plan {
	const operation = random.pick([...OPERATIONS, ...OPERATIONS.filter(isPaid)]);
	const [resource, name] = operation.split(':');
	const timeout = random.whole(1, 3);
	const items = random.whole(1, 3);
	const tries = random.chance(0.2) ? 2 : 1;
	const isTimed = isPaid(operation) || operation === 'speech:wait';
	const text = `={{ $json.text }}`;
	const options: IDataObject = {
		...(isTimed ? { timeout } : {}),
		...(/^video|^image/.test(operation) ? { idleTimeout: random.whole(1, 2) } : {}),
		...(/speak|wait/.test(operation) ? { pollInterval: 1 } : {}),
		...(operation === 'video:framesToVideo' ? { prompt: text } : {}),
		...(operation === 'history:getAll' ? { download: random.chance(0.7) } : {}),
		...(random.chance(0.3) ? { concurrency: random.whole(1, 3) } : {}),
	};
	const parameters: IDataObject = {
		resource,
		operation: name,
		text,
		prompt: text,
		taskId: random.pick(['12', 'abc', 'ä ö']).replace(' ', '-'),
		voiceId: { __rl: true, mode: 'id', value: 'v1' },
		binaryPropertyName: 'data',
		returnAll: random.chance(0.5),
		limit: random.whole(1, 200),
		numberOfVideos: random.whole(1, 3),
		waitForCompletion: random.chance(0.9),
		options,
	};
	// Operations without a timeout go on for minutes: they are canceled.
	const cancelAfterMs = isTimed && random.chance(0.8) ? undefined : random.whole(1, 3000);
	const ownMs = (timeout * 1000 * (items + 1) + OPENING_MS) * tries + (tries - 1) * 200;
	return {
		seed,
		operation,
		parameters,
		node: {
			onError: random.pick(['stopWorkflow', 'continueRegularOutput', 'continueErrorOutput']),
			...(tries > 1 ? { retryOnFail: true, maxTries: tries, waitBetweenTries: 200 } : {}),
		},
		items,
		mode: random.pick(['manual', 'trigger']),
		cancelAfterMs,
		mostMs: (cancelAfterMs ?? ownMs) + LATE_MS,
	};
}

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64');

/** Runs a plan; returns how it ended and what was wrong with it. */
export async function runPlan(plan: Plan, baseUrl: string, token: string) {
	const messages: string[] = [];
	const input = Array.from({ length: plan.items }, (_, n): INodeExecutionData => ({
		json: { text: `Text ${plan.seed}-${n}` },
		binary: { data: { data: PNG, mimeType: 'image/png', fileName: 'in.png' } },
	}));
	const running = await startWorkflow({
		workflow: workflowOf(plan.parameters, plan.node),
		credentials: { mediaGenerationApi: { apiToken: token, baseUrl, webSocketUrl: '' } },
		input,
		mode: plan.mode,
		binaryMode: 'filesystem',
		onMessage: (message) => messages.push(message),
	});
	const cancel =
		plan.cancelAfterMs === undefined ? undefined : setTimeout(running.cancel, plan.cancelAfterMs);
	let late: NodeJS.Timeout | undefined;
	const result = await Promise.race([
		running.finished,
		new Promise<undefined>((resolve) => (late = setTimeout(() => resolve(undefined), plan.mostMs))),
	]);
	clearTimeout(cancel);
	clearTimeout(late);
	if (!result) {
		running.cancel();
		return { ended: 'hangs', wrong: [`it still runs after ${plan.mostMs} ms`] };
	}
	return { ended: result.run.status, wrong: wrongWith(result, messages, token) };
}

const ODD = /undefined|\[object|\bNaN\b|\.[jt]s:\d+|^\s*$|^null$|Maximum call stack/;

function wrongWith(result: WorkflowResult, messages: string[], token: string): string[] {
	const wrong: string[] = [];
	const leak = findToken(token, { run: saved(result.run), messages: messages.join('\n') });
	if (leak) wrong.push(`the token is in the ${leak}`);
	const isCanceled = result.run.status === 'canceled';
	const outputs = result.run.data.resultData.runData[NODE]?.at(-1)?.data?.main!.flat() ?? [];
	const words: unknown[] = isCanceled
		? []
		: outputs.map((item) => item?.json.error).filter((error) => error !== undefined);
	if (result.error && !isCanceled)
		words.push(result.error.message, result.error.description ?? '-');
	for (const text of words) {
		// A record that is put out as the service sent it may have an `error` of any kind.
		if (typeof text === 'string' && ODD.test(text)) {
			wrong.push(`a message is ${JSON.stringify(text)}`);
		}
	}
	if (result.error && !isCanceled && !/\[item \d+\]/.test(result.error.message)) {
		wrong.push(`a message without an item: ${result.error.message}`);
	}
	return wrong;
}
