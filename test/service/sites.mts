import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { selfSigned } from '../faults/certificate.mts';
import type { Handler } from './fakeService.mts';

const HOST = '127.0.0.1';

/**
 * Starts the only hosts that n8n can reach: those in `handlers`. n8n reaches them over a proxy. Their certificates, which
 * n8n must trust, are written to `folder`.
 */
export async function startSites(folder: string, handlers: Record<string, Handler>) {
	const certificates = join(folder, 'certificates.pem');
	const pairs = Object.keys(handlers).map((host) => ({ host, ...selfSigned(host) }));
	const contexts = new Map(pairs.map(({ host, ...pair }) => [host, createSecureContext(pair)]));
	writeFileSync(certificates, pairs.map(({ cert }) => cert).join(''));
	const sites = createTlsServer(
		{ SNICallback: (host, give) => give(null, contexts.get(host)) },
		(request, response) => handlers[request.headers.host!]!(request, response),
	);
	const proxy = createServer((_, response) => response.writeHead(502).end());
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
	/** The environment variables that make n8n use the proxy. */
	const environment = {
		HTTP_PROXY: address,
		HTTPS_PROXY: address,
		NO_PROXY: `${HOST},localhost`,
		NODE_EXTRA_CA_CERTS: certificates,
	};
	const close = () => {
		for (const server of [proxy, sites]) {
			server.close();
			server.closeAllConnections();
		}
	};
	return { environment, certificates, close };
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;
