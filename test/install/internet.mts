import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { selfSigned } from '../faults/certificate.mts';

const HOST = '127.0.0.1';
const REGISTRY = 'registry.npmjs.org';
/** Where an n8n asks what is verified and what is banned; one that is developed asks the second. */
const N8N_HOSTS = ['api.n8n.io', 'api-staging.n8n.io'];

/**
 * What n8n and its npm reach of the internet: npm's registry, which is the local one, and n8n's list
 * of verified nodes. It is a proxy with certificates of its own, because n8n takes packages from
 * another address than npm's with a paid licence only. Nobody else can be reached. Starts it before a
 * registry on this machine; what n8n must trust is written to the folder.
 */
export async function startInternet(registryPort: number, folder: string) {
	const certificates = join(folder, 'certificates.pem');
	const pairs = [REGISTRY, ...N8N_HOSTS].map((host) => ({ host, ...selfSigned(host) }));
	const contexts = new Map(pairs.map(({ host, ...pair }) => [host, createSecureContext(pair)]));
	writeFileSync(certificates, pairs.map(({ cert }) => cert).join(''));
	const sites = createTlsServer(
		{ SNICallback: (host, give) => give(null, contexts.get(host)) },
		(asked, answer) => {
			if (asked.headers.host === REGISTRY) passOn(registryPort, asked, answer);
			else answerForN8n(asked, answer);
		},
	);
	const proxy = createServer((_, answer) => answer.writeHead(502).end());
	proxy.on('connect', ({ url = '' }, client) => {
		client.on('error', () => client.destroy());
		const isKnown = contexts.has(url.replace(/:443$/, ''));
		if (!isKnown) return client.end('HTTP/1.1 502 Not reachable\r\n\r\n');
		const site = connect(portOf(sites), HOST);
		site.on('error', () => client.destroy());
		client.write('HTTP/1.1 200 Connected\r\n\r\n');
		client.pipe(site).pipe(client);
	});
	for (const server of [sites, proxy]) await once(server.listen(0, HOST), 'listening');
	const address = `http://${HOST}:${portOf(proxy)}`;
	/** The variables by which n8n and its npm get here, and nowhere else. */
	const environment = {
		HTTP_PROXY: address,
		HTTPS_PROXY: address,
		NO_PROXY: `${HOST},localhost`,
		NODE_EXTRA_CA_CERTS: certificates,
		// As on a machine on which nobody has set up npm.
		npm_config_cafile: certificates,
		npm_config_registry: `https://${REGISTRY}/`,
		npm_config_userconfig: join(folder, 'npmrc'),
		npm_config_cache: join(folder, 'npm-cache'),
		npm_config_update_notifier: 'false',
	};
	const close = () => {
		for (const server of [proxy, sites]) {
			server.close();
			server.closeAllConnections();
		}
	};
	return { environment, close };
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

function passOn(port: number, asked: IncomingMessage, answer: ServerResponse): void {
	const { method, url: path } = asked;
	const headers = { ...asked.headers, 'x-forwarded-proto': 'https' };
	const onward = request({ host: HOST, port, method, path, headers }, (response) => {
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
