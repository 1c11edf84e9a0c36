import type { IDataObject, INode } from 'n8n-workflow';
import { startWorkflow, type WorkflowResult } from '../../demo/engine.mts';
import { canary, findToken } from '../faults/canary.mts';
import { saved } from '../faults/check.mts';
import { isPaid, OPERATIONS, type Operation } from '../faults/stage.mts';
import { itemWith, NODE, workflowOf } from '../faults/workflow.mts';
import type { Hostile } from './hostile.mts';
import { Random } from './random.mts';

/** One run of the node against the hostile service, and what must hold for it. */

/** How long speech waits for the socket; the create call then has the whole timeout. */
const OPENING_MS = 3000;
/** A service is asked no more often than this for an item, whatever it does. */
const MOST_REQUESTS = 60;

interface Plan {
	seed: number;
	operation: Operation;
	parameters: IDataObject;
	node: Partial<INode>;
	items: number;
	mode: 'manual' | 'trigger';
	cancelAfterMs: number | undefined;
	/** When it should be over, canceled or not. */
	mostMs: number;
}

/**
 * One run that only the seed decides on, unless an operation is wished for; returns how it ended and what
 * was wrong with it. `lateMs` is how late it may end, for n8n's and the machine's part in it.
 */
export async function runSeed(
	hostile: Hostile,
	seed: number,
	{ lateMs = 6000, wished }: { lateMs?: number; wished?: Operation } = {},
): Promise<{ ended: string; wrong: string[] }> {
	const random = new Random(seed);
	const token = canary();
	const [own, malice] = [random.whole(0, 2 ** 31), random.pick([0.05, 0.2, 0.5, 0.9])];
	const plan = planOf(random, seed, wished);
	hostile.open(token, own, malice, plan.node.retryOnFail);
	const { ended, wrong } = await runPlan(plan, hostile.baseUrl, token, lateMs).catch(
		(error: Error) => ({ ended: 'throws', wrong: [`the engine throws: ${error.stack}`] }),
	);
	const requests = hostile.requestsOf(token);
	if (requests > MOST_REQUESTS * plan.items) wrong.push(`${requests} requests`);
	// A canceled run ends before its requests do.
	setTimeout(() => hostile.forget(token), 20_000).unref();
	return { ended, wrong: wrong.map((problem) => `${seed} (${plan.operation}): ${problem}`) };
}

function planOf(random: Random, seed: number, wished?: Operation): Plan {
	const operation = wished ?? random.pick([...OPERATIONS, ...OPERATIONS.filter(isPaid)]);
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
		mostMs: cancelAfterMs ?? ownMs,
	};
}

async function runPlan(plan: Plan, baseUrl: string, token: string, lateMs: number) {
	const messages: string[] = [];
	const input = Array.from({ length: plan.items }, (_, n) =>
		itemWith({ text: `Text ${plan.seed}-${n}` }),
	);
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
	const mostMs = plan.mostMs + lateMs;
	let late: NodeJS.Timeout | undefined;
	const result = await Promise.race([
		running.finished,
		new Promise<undefined>((resolve) => (late = setTimeout(() => resolve(undefined), mostMs))),
	]);
	clearTimeout(cancel);
	clearTimeout(late);
	if (!result) {
		running.cancel();
		return { ended: 'hangs', wrong: [`it still runs after ${mostMs} ms`] };
	}
	return { ended: result.run.status, wrong: wrongWith(result, messages, token, plan.node) };
}

/** Words of a program, not of somebody who explains. */
const ODD =
	/undefined|\[object|\bNaN\b|\.[jt]s:\d+|^\s*$|^null$|call stack|is not a function|Cannot read|Unexpected token|TypeError|URI malformed|Something unexpected|<html/;

/** What is wrong with a run, whatever the service did: its words, its error, a token in it. */
export function wrongWith(
	result: WorkflowResult,
	messages: string[],
	token: string,
	{ onError }: Partial<INode> = {},
): string[] {
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
		if (String(text).length > 20_000) wrong.push('a message without end');
	}
	if (result.error && !isCanceled) {
		const { name, message } = result.error;
		if (!/\[item \d+\]/.test(message)) wrong.push(`a message without an item: ${message}`);
		if (!/^Node(?:Api|Operation)Error$/.test(name)) wrong.push(`a ${name}: ${message}`);
		if (/^continue/.test(onError ?? '')) wrong.push(`it did not go on: ${message}`);
	}
	return wrong;
}
