import { temporaryFolder } from '../cleanup.mts';
import { freePort } from '../ports.mts';
import { HOST, newPassword, programPath, serve, type Server } from './serve.mts';

/**
 * Starts Redis on a free port; it saves nothing to disk. Resolves once it is ready. `environment` are the environment
 * variables that make n8n use it.
 */
export async function startRedis(): Promise<Server & { environment: Record<string, string> }> {
	const folder = temporaryFolder('redis');
	const port = await freePort();
	const password = newPassword();
	const settings = [
		`bind ${HOST}`,
		`port ${port}`,
		`requirepass ${password}`,
		`dir ${folder.path}`,
		'save ""',
		'appendonly no',
	];
	const server = await serve({
		command: programPath('redis'),
		args: ['-'],
		input: settings.join('\n'),
		folder,
		ready: 'Ready to accept connections',
	});
	const environment = {
		QUEUE_BULL_REDIS_HOST: HOST,
		QUEUE_BULL_REDIS_PORT: String(port),
		QUEUE_BULL_REDIS_PASSWORD: password,
	};
	return { environment, ...server };
}
