import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { project } from '../../tools/n8n/package.mts';
import { packInto } from '../../tools/pack.mts';
import { cleanEnvironment } from '../../tools/process.mjs';

const { runServer } = createRequire(join(project, 'tools/registry/package.json'))('verdaccio') as {
	runServer(config: object): Promise<Server>;
};
const run = promisify(execFile);

/** Starts a registry of npm packages on this machine: empty, with a folder for its packages, asking nobody. */
export async function startRegistry(folder: string) {
	const anybody = { access: '$all', publish: '$all', unpublish: '$all' };
	const server = await runServer({
		storage: join(folder, 'storage'),
		configPath: join(folder, 'config.yaml'),
		auth: { htpasswd: { file: join(folder, 'htpasswd') } },
		packages: { '**': anybody },
		web: { enable: false },
		log: { type: 'stdout', level: 'fatal' },
	});
	await once(server.listen(0, '127.0.0.1'), 'listening');
	const { port } = server.address() as AddressInfo;
	const place = `//127.0.0.1:${port}/`;
	/** What tells npm to publish here. npm publishes nothing without a token; this registry takes any. */
	const options = [`--registry=http:${place}`, `--${place}:_authToken=anybody`];
	/** Publishes what `npm pack` makes of this project, with another version number, which it returns. */
	const publish = async (version: string): Promise<string> => {
		const cwd = join(folder, version);
		packInto(project, cwd);
		const file = join(cwd, 'package.json');
		const manifest = JSON.parse(readFileSync(file, 'utf8'));
		writeFileSync(file, JSON.stringify({ ...manifest, version }));
		const args = ['publish', '--ignore-scripts', ...options];
		await run('npm', args, { cwd, env: cleanEnvironment() });
		return version;
	};
	const close = async () => {
		server.close();
		server.closeAllConnections();
		await once(server, 'close');
	};
	return { port, publish, close };
}
