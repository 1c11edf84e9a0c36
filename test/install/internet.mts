import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { startSites } from '../service/sites.mts';

const REGISTRY = 'registry.npmjs.org';

/**
 * What n8n and its npm reach of the internet: npm's registry, which is the local one, and n8n's list
 * of verified nodes. It is a proxy, because n8n takes packages from another address than npm's with a
 * paid licence only. Starts it before a registry on this machine.
 */
export async function startInternet(registryPort: number, folder: string) {
	const { certificates, environment, close } = await startSites(folder, {
		[REGISTRY]: (asked, answer) => passOn(registryPort, asked, answer),
		// Where an n8n asks what is verified and what is banned; one that is developed asks the second.
		'api.n8n.io': answerForN8n,
		'api-staging.n8n.io': answerForN8n,
	});
	const npm = {
		// As on a machine on which nobody has set up npm.
		npm_config_cafile: certificates,
		npm_config_registry: `https://${REGISTRY}/`,
		npm_config_userconfig: join(folder, 'npmrc'),
		npm_config_cache: join(folder, 'npm-cache'),
		npm_config_update_notifier: 'false',
	};
	return { environment: { ...environment, ...npm }, close };
}

function passOn(port: number, asked: IncomingMessage, answer: ServerResponse): void {
	const { method, url: path } = asked;
	const headers = { ...asked.headers, 'x-forwarded-proto': 'https' };
	const onward = request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
		answer.writeHead(response.statusCode!, response.headers);
		response.pipe(answer);
	});
	onward.on('error', () => answer.destroy());
	asked.pipe(onward);
}

/** Nothing is verified, and nothing is banned. */
function answerForN8n({ url }: IncomingMessage, answer: ServerResponse): void {
	const listed = { data: [], meta: { pagination: { page: 1, pageCount: 1 } } };
	const body = url?.startsWith('/api/community-nodes') ? listed : { status: 'OK' };
	answer.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
