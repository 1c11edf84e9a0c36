import type { N8n } from '../n8n.mts';
import type { Account, Operation } from '../service.mts';
import type { Contender } from './contender.mts';
import { inN8n } from './inN8n.mts';

/** Nothing listens there. */
const NO_SOCKET = 'ws://127.0.0.1:9';

interface Changes {
	/** Without its WebSocket, as behind a proxy that lets none through. */
	blocked?: boolean;
	/** False: addresses are put out, no files. */
	download?: boolean;
}

/** The node of this package, with options other than its defaults. */
export async function ours(
	n8n: N8n,
	id: string,
	account: Account,
	options: Record<string, unknown>,
	{ blocked = false, download = true }: Changes = {},
): Promise<Contender> {
	const { token: apiToken, baseUrl, voiceId } = account.access;
	const data = { apiToken, baseUrl, webSocketUrl: blocked ? NO_SOCKET : '', allowHttp: false };
	const credential = await n8n.credential('mediaGenerationApi', data);
	const step = (parameters: Record<string, unknown>) => ({
		name: 'Media Generation',
		type: 'n8n-nodes-media-generation.mediaGeneration',
		typeVersion: 1,
		parameters: { ...parameters, download, options } as never,
		credentials: { mediaGenerationApi: credential },
	});
	const speech = step({
		resource: 'speech',
		operation: 'speak',
		text: '={{ $json.text }}',
		voiceId: { __rl: true, mode: 'id', value: voiceId },
	});
	const video = step({
		resource: 'video',
		operation: 'textToVideo',
		prompt: '={{ $json.text }}',
	});
	const requests = (of: Operation) => account.requests(of);
	const steps = { speech: [speech], video: [video] };
	return await inN8n(n8n, id, 'Media Generation node', requests, steps);
}
