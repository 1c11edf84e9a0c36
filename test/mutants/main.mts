import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MUTANTS, textOf } from './mutants.mts';

/*
 * node test/mutants/main.mts [WORD] [--worlds]: plants defects in the sources, one at a time, and says what
 * finds each: the worlds or, without --worlds, all tests.
 */

const root = join(import.meta.dirname, '../..');
const [word = ''] = process.argv.slice(2).filter((each) => each !== '--worlds');
const commands = [['test/worlds/main.mts', '--count', '400', '--within', '60', '--first']];
if (!process.argv.includes('--worlds')) commands.push(['tools/run.mjs', 'test', '--bail']);
const run = (command: string[]) =>
	spawnSync(process.execPath, command, { cwd: root, encoding: 'utf8' });

/** What says that something is wrong; undefined if nothing does. Throws of what nobody could build. */
function findDefect(): string | undefined {
	const { status, stdout } = run(['node_modules/typescript/bin/tsc', '--noEmit']);
	if (status !== 0) throw new Error(stdout);
	for (const command of commands) {
		const { status, output } = run(command);
		if (status !== 0)
			return (
				/seed \d+: .*|● (?!Console).*|^\w*Error: .*/m.exec(output.join('\n'))?.[0] ?? 'no start'
			);
	}
	return undefined;
}

let missed = 0;
for (const [file, from, to = ''] of MUTANTS.filter(([name]) => name.includes(word))) {
	const { path, text } = textOf(file, from);
	writeFileSync(
		path,
		text.replace(from, () => to),
	);
	try {
		const found = findDefect();
		if (!found) missed++;
		console.log(`${found ? 'found ' : 'MISSED'} ${file}: ${from.split('\n').at(-1)} | ${found}`);
	} finally {
		writeFileSync(path, text);
	}
}
console.log(`${missed} missed`);
