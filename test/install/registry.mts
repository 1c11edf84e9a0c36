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

/** A version of this package, as the registry has it. */
export interface Published {
	version: string;
	/** Of its tarball, as npm writes it: "sha512-…". */
	checksum: string;
}

/** A registry of npm packages on this machine, which holds what is published here and asks nobody. */
export class Registry {
	private readonly server: Server;
	private readonly folder: string;

	private constructor(server: Server, folder: string) {
		this.server = server;
		this.folder = folder;
	}

	/** Starts an empty one that keeps its packages in a folder. */
	static async start(folder: string): Promise<Registry> {
		const anybody = { access: '$all', publish: '$all', unpublish: '$all' };
		const server = await runServer({
			storage: join(folder, 'storage'),
			configPath: join(folder, 'config.yaml'),
			auth: { htpasswd: { file: join(folder, 'htpasswd') } },
			packages: { '**': anybody },
			web: { enable: false },
			log: { type: 'stdout', level: 'fatal' },
		});
		server.listen(0, '127.0.0.1');
		await once(server, 'listening');
		return new Registry(server, folder);
	}

	get port(): number {
		return (this.server.address() as AddressInfo).port;
	}

	/** What tells npm to publish here. npm publishes nothing without a token; this registry takes any. */
	get options(): string[] {
		const place = `//127.0.0.1:${this.port}/`;
		return [`--registry=http:${place}`, `--${place}:_authToken=anybody`];
	}

	/** Publishes what `npm pack` makes of this project, with another version number. */
	async publish(version: string): Promise<Published> {
		const target = join(this.folder, version);
		packInto(project, target);
		const file = join(target, 'package.json');
		const manifest = JSON.parse(readFileSync(file, 'utf8'));
		writeFileSync(file, JSON.stringify({ ...manifest, version }));
		await run('npm', ['publish', '--ignore-scripts', ...this.options], {
			cwd: target,
			env: cleanEnvironment(),
		});
		const answer = await fetch(`http://127.0.0.1:${this.port}/${manifest.name}/${version}`);
		const { dist } = (await answer.json()) as { dist: { integrity: string } };
		return { version, checksum: dist.integrity };
	}

	async close(): Promise<void> {
		this.server.close();
		this.server.closeAllConnections();
		await once(this.server, 'close');
	}
}
