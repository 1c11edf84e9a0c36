/*
 * Loads the package in the folder given with n8n-core's own loader, and prints what it holds. Runs
 * in a process of its own: in jest, `require` is jest's and would find more than n8n does.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { core } from '../../demo/n8n.mts';

const [folder] = process.argv.slice(2) as [string];
const loader = new core.PackageDirectoryLoader(folder);
await loader.loadAll();

const fromPackage = createRequire(join(folder, 'package.json'));
const canResolve = (name: string) => {
	try {
		return Boolean(fromPackage.resolve(name));
	} catch {
		return false;
	}
};

const nodes = Object.values(loader.nodeTypes).map(({ type }) => type.description);
const credentials = Object.values(loader.credentialTypes).map(({ type }) => type);
const names = ['n8n-workflow', 'n8n-core', 'eventsource-parser', 'ws'];
const found = { nodes, credentials, resolvable: names.filter(canResolve) };
process.stdout.write(JSON.stringify(found));
