import type { INodeExecutionData, IRun } from 'n8n-workflow';
import { useBinaryMode } from '../../demo/n8n.mts';
import { canary, findToken } from '../faults/canary.mts';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';
import type { Hostile } from './hostile.mts';
import type { Random } from './random.mts';

/** An active trigger for some seconds, against the hostile service. */
export async function listenFor(
	hostile: Hostile,
	random: Random,
	note: (problem: string) => void,
): Promise<void> {
	const token = canary();
	hostile.open(token, random.whole(0, 2 ** 31), random.pick([0, 0.1, 0.3]));
	await useBinaryMode('filesystem');
	const node = triggerNode({
		events: ['completed', 'failed', 'progress'],
		taskIds: random.pick(['', '12, 13']),
		options: { download: random.chance(0.5), progressStep: random.whole(1, 50) },
	});
	const setting = {
		workflowId: `soak-${token.slice(5, 15)}`,
		nodes: [node],
		credential: { apiToken: token, baseUrl: hostile.baseUrl, webSocketUrl: '' },
	};
	const said: unknown[] = [];
	const emit = (
		data: INodeExecutionData[][],
		_response?: unknown,
		done?: { resolve(run: IRun): void },
		key?: string,
	) => {
		said.push(data, key);
		done?.resolve({} as IRun);
	};
	const fail = (error: Error) => said.push(error.message, error);
	const began = Date.now();
	const response = await activateTrigger(setting, emit, fail).catch((error: Error) => {
		if (!error.message) note('the trigger refuses without a word');
		fail(error);
		return undefined;
	});
	if (Date.now() - began > 30_000) note('the trigger took more than 30 s to begin');
	await new Promise((resolve) => setTimeout(resolve, random.whole(10, 5000)));
	await response?.closeFunction?.();
	const found = findToken(token, {
		trigger: JSON.stringify(said, (_, value: unknown) =>
			value instanceof Error ? { ...value, message: value.message, stack: value.stack } : value,
		),
	});
	if (found) note(`the token is in the ${found}`);
	setTimeout(() => hostile.forget(token), 20_000).unref();
}
