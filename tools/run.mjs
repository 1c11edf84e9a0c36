/*
 * node tools/run.mjs COMMAND [arguments]: installs and builds what the command needs, then runs the command with the
 * Node 24 of this project. This file and what it imports are JavaScript without packages, because they must run on
 * Node 20 before anything is installed.
 */
import { commands } from './commands.mjs';
import { runHere, SetupError } from './process.mjs';
import { ensureDependencies, environmentFor, project } from './setup.mjs';

const [name, ...args] = process.argv.slice(2);
const command = Object.hasOwn(commands, name ?? '') ? commands[name] : undefined;

if (!command) {
	console.error(`Usage: node tools/run.mjs ${Object.keys(commands).join(' | ')}`);
	process.exit(2);
}
if (Number(process.versions.node.split('.')[0]) < 20) {
	console.error(`This command needs Node 20 or later; this is Node ${process.versions.node}.`);
	process.exit(1);
}

try {
	const node = await ensureDependencies();
	for (const ensure of command.needs) await ensure(node);
	process.exitCode = await runHere(node, [...command.run, ...args], {
		cwd: project,
		env: environmentFor(node),
	});
	if (process.exitCode === 0 && command.next) console.log(`\n${command.next}`);
} catch (error) {
	console.error(error instanceof SetupError ? `\n${error.message}` : error);
	process.exitCode = 1;
}
