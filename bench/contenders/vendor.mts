import type { MiniMax } from '../minimax.mts';
import type { N8n } from '../n8n.mts';
import type { Account, Operation } from '../service.mts';
import type { Contender } from './contender.mts';
import { inN8n } from './inN8n.mts';

/** n8n's own node for MiniMax, with its default settings, against a stand-in for MiniMax's API. */
export async function vendor(
	n8n: N8n,
	id: string,
	account: Account,
	minimax: MiniMax,
): Promise<Contender> {
	const data = { apiKey: account.access.token, region: 'international', url: minimax.url };
	const credential = await n8n.credential('minimaxApi', data);
	const step = (parameters: object) => ({
		name: 'MiniMax',
		type: '@n8n/n8n-nodes-langchain.minimax',
		typeVersion: 1.2,
		parameters: parameters as never,
		credentials: { minimaxApi: credential },
	});
	const speech = step({
		resource: 'audio',
		operation: 'textToSpeech',
		text: '={{ $json.text }}',
		options: { audioFormat: 'wav' },
	});
	const video = step({
		resource: 'video',
		operation: 'textToVideo',
		modelId: 'MiniMax-Hailuo-2.3',
		prompt: '={{ $json.text }}',
	});
	const requests = (operation: Operation) =>
		minimax.requests[operation] + account.downloads(operation);
	const steps = { speech: [speech], video: [video] };
	return await inN8n(n8n, id, 'MiniMax node of n8n', requests, steps);
}
