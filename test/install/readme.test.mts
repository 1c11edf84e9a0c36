import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { project } from '../../tools/n8n/package.mts';
import { cleanEnvironment } from '../../tools/process.mjs';
import { startInternet } from './internet.mts';

/* The lines of README.md that install the package without n8n's editor, on every Node that n8n runs on. */

const NAME = 'n8n-nodes-media-generation';
const run = promisify(execFile);
const folder = temporaryFolder('readme');
const internet = await startInternet(folder.path);
await internet.publish('1.0.0');
after(() => {
	internet.close();
	folder.remove();
});

const readme = readFileSync(join(project, 'README.md'), 'utf8');
const lines = {
	npm: /\*\*npm\*\*: `([^`]+)`/.exec(readme)![1]!,
	Docker: /\*\*Docker\*\*: `docker exec [^`]* sh -c '([^`']+)'`/.exec(readme)![1]!,
};

/** The folder of a Node of this version, from npm. */
async function nodeOf(version: string): Promise<string> {
	if (process.versions.node.startsWith(version)) return dirname(process.execPath);
	const prefix = join(folder.path, `node-${version}`);
	await run('npm', ['install', '--prefix', prefix, `node@${version}`], { env: cleanEnvironment() });
	return join(prefix, 'node_modules/node/bin');
}

describe('the lines of README.md', { timeout: 600_000 }, () => {
	for (const version of ['20', '22', '24']) {
		for (const [name, line] of Object.entries(lines)) {
			it(`install the package alone, within seconds: ${name}, Node ${version}`, async () => {
				const path = `${await nodeOf(version)}${delimiter}${process.env.PATH}`;
				const home = join(folder.path, `${name}-${version}`);
				mkdirSync(home);
				const env = cleanEnvironment({ ...internet.environment, HOME: home, PATH: path });
				const { stdout } = await run('node', ['--version'], { env });
				assert.match(stdout, new RegExp(`^v${version}\\.`));
				await run('sh', ['-c', line], { env, timeout: 30_000 });
				const modules = readdirSync(join(home, '.n8n/nodes/node_modules'));
				assert.deepEqual(
					modules.filter((each) => !each.startsWith('.')),
					[NAME],
				);
			});
		}
	}
});
