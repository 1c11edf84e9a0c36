import type { Account } from './account.mts';
import { Contender } from './contender.mts';
import type { N8n } from './n8n.mts';

/** No server listens at this URL. */
const NO_SOCKET = 'ws://127.0.0.1:9';

interface Changes {
	/** The node's options; by default it has none. */
	options?: Record<string, number>;
	/** True to let the WebSocket fail, as behind a proxy that blocks it. */
	isBlocked?: boolean;
	/** False to output the URLs instead of the files. */
	download?: boolean;
}

/** The node of this package. */
export async function ours(
	n8n: N8n,
	account: Account,
	{ options = {}, isBlocked = false, download = true }: Changes = {},
): Promise<Contender> {
	const { token: apiToken, baseUrl, voiceId } = account;
	const data = { apiToken, baseUrl, webSocketUrl: isBlocked ? NO_SOCKET : '', allowHttp: false };
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
	const steps = { speech: [speech], video: [video] };
	return await Contender.publish('Media Generation node', n8n, account, steps);
}
