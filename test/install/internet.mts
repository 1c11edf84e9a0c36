import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createSecureContext, type SecureContext } from 'node:tls';
import { selfSigned } from '../faults/certificate.mts';

const HOST = '127.0.0.1';
const REGISTRY = 'registry.npmjs.org';
/** Where an n8n asks what is verified and what is banned; one that is developed asks the second. */
const N8N_HOSTS = ['api.n8n.io', 'api-staging.n8n.io'];

/** One of n8n's records of verified nodes. */
export interface VerifiedNode {
	id: number;
	name: string;
	packageName: string;
	npmVersion: string;
	checksum: string;
	updatedAt: string;
	nodeDescription: unknown;
	nodeVersions: Array<{ npmVersion: string; checksum: string }>;
}

/**
 * What n8n and its npm reach of the internet: npm's registry, which is the local one, and n8n's list
 * of verified nodes. It is a proxy with certificates of its own, because n8n takes packages from
 * another address than npm's with a paid licence only. Nobody else can be reached.
 */
export class Internet {
	/** What n8n's list of verified nodes holds. */
	verified: VerifiedNode[] = [];
	private readonly registryPort: number;
	private readonly contexts = new Map<string, SecureContext>();
	private readonly certificates: string;
	private readonly sites = createTlsServer(
		{
			SNICallback: (host, give) => give(null, this.contexts.get(host)),
		},
		(asked, answer) => this.serve(asked, answer),
	);
	private readonly proxy = createServer((_, answer) => answer.writeHead(502).end());

	private constructor(registryPort: number, folder: string) {
		this.registryPort = registryPort;
		this.certificates = join(folder, 'certificates.pem');
		const pairs = [REGISTRY, ...N8N_HOSTS].map((host) => ({ host, ...selfSigned(host) }));
		for (const { host, ...pair } of pairs) this.contexts.set(host, createSecureContext(pair));
		writeFileSync(this.certificates, pairs.map(({ cert }) => cert).join(''));
		this.proxy.on('connect', ({ url = '' }, client) => {
			client.on('error', () => client.destroy());
			const known = this.contexts.has(url.replace(/:443$/, ''));
			if (!known) return client.end('HTTP/1.1 502 Not reachable\r\n\r\n');
			const site = connect((this.sites.address() as AddressInfo).port, HOST);
			site.on('error', () => client.destroy());
			client.write('HTTP/1.1 200 Connected\r\n\r\n');
			client.pipe(site).pipe(client);
		});
	}

	/** Starts it before a registry on this machine; what n8n must trust is written to the folder. */
	static async start(registryPort: number, folder: string): Promise<Internet> {
		const internet = new Internet(registryPort, folder);
		for (const server of [internet.sites, internet.proxy]) {
			server.listen(0, HOST);
			await once(server, 'listening');
		}
		return internet;
	}

	/** The variables by which n8n and its npm get here, and nowhere else. */
	environment(folder: string): NodeJS.ProcessEnv {
		const proxy = `http://${HOST}:${(this.proxy.address() as AddressInfo).port}`;
		return {
			HTTP_PROXY: proxy,
			HTTPS_PROXY: proxy,
			NO_PROXY: `${HOST},localhost`,
			NODE_EXTRA_CA_CERTS: this.certificates,
			// As on a machine on which nobody has set up npm.
			npm_config_cafile: this.certificates,
			npm_config_registry: `https://${REGISTRY}/`,
			npm_config_userconfig: join(folder, 'npmrc'),
			npm_config_cache: join(folder, 'npm-cache'),
			npm_config_update_notifier: 'false',
		};
	}

	async close(): Promise<void> {
		for (const server of [this.proxy, this.sites]) {
			server.close();
			server.closeAllConnections();
		}
	}

	private serve(asked: IncomingMessage, answer: ServerResponse): void {
		if (asked.headers.host !== REGISTRY) return this.answerForN8n(asked, answer);
		const { method, url: path, headers } = asked;
		const passed = { ...headers, 'x-forwarded-proto': 'https' };
		const forwarded = request(
			{ host: HOST, port: this.registryPort, method, path, headers: passed },
			(response) => {
				answer.writeHead(response.statusCode!, response.headers);
				response.pipe(answer);
			},
		);
		forwarded.on('error', () => answer.destroy());
		asked.pipe(forwarded);
	}

	private answerForN8n({ url }: IncomingMessage, answer: ServerResponse): void {
		const pagination = { page: 1, pageCount: 1 };
		const listed = { data: this.verified, meta: { pagination } };
		// The other question is whether a package is banned.
		const body = url?.startsWith('/api/community-nodes') ? listed : { status: 'OK' };
		answer.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
	}
}
