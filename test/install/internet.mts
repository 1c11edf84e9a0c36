import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Server, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { project } from '../../tools/n8n/package.mts';
import { packInto } from '../../tools/pack.mts';
import { cleanEnvironment } from '../../tools/process.mjs';
import type { Handler } from '../service/fakeService.mts';
import { startSites } from '../service/sites.mts';

const { runServer } = createRequire(join(project, 'tools/registry/package.json'))('verdaccio') as {
	runServer(config: object): Promise<Server>;
};
const REGISTRY = 'registry.npmjs.org';

/**
 * What n8n and its npm reach of the internet: npm's registry, which is one of this machine, empty, with
 * a folder for its packages and asking nobody, and n8n's list of verified nodes. There is a proxy,
 * because n8n takes packages from another address than npm's with a paid licence only.
 */
export async function startInternet(folder: string) {
	const anybody = { access: '$all', publish: '$all', unpublish: '$all' };
	const registry = await runServer({
		storage: join(folder, 'storage'),
		configPath: join(folder, 'config.yaml'),
		auth: { htpasswd: { file: join(folder, 'htpasswd') } },
		packages: { '**': anybody },
		web: { enable: false },
		log: { type: 'stdout', level: 'fatal' },
	});
	const { certificates, close, ...sites } = await startSites(folder, {
		[REGISTRY]: (request, answer) => registry.emit('request', request, answer),
		// Where an n8n asks what is verified and what is banned; one that is developed asks the second.
		'api.n8n.io': answerForN8n,
		'api-staging.n8n.io': answerForN8n,
	});
	const environment = {
		...sites.environment,
		// As on a machine on which nobody has set up npm.
		npm_config_cafile: certificates,
		npm_config_registry: `https://${REGISTRY}/`,
		npm_config_userconfig: join(folder, 'npmrc'),
		npm_config_cache: join(folder, 'npm-cache'),
		npm_config_update_notifier: 'false',
	};
	/** Publishes what `npm pack` makes of this project, with another version number, which it returns. */
	const publish = async (version: string): Promise<string> => {
		const cwd = join(folder, version);
		packInto(project, cwd);
		const file = join(cwd, 'package.json');
		const manifest = JSON.parse(readFileSync(file, 'utf8'));
		writeFileSync(file, JSON.stringify({ ...manifest, version }));
		// npm publishes nothing without a token; this registry takes any.
		const args = ['publish', '--ignore-scripts', `--//${REGISTRY}/:_authToken=anybody`];
		await promisify(execFile)('npm', args, { cwd, env: cleanEnvironment(environment) });
		return version;
	};
	return { environment, publish, close };
}

/** Nothing is verified, and nothing is banned. */
const answerForN8n: Handler = ({ url }, answer: ServerResponse) => {
	const listed = { data: [], meta: { pagination: { page: 1, pageCount: 1 } } };
	const body = url?.startsWith('/api/community-nodes') ? listed : { status: 'OK' };
	answer.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
};
