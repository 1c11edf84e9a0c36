import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/*
 * node test/worlds/mutants.mts [WORD] [--worlds]: plants defects, one at a time, and says what finds each: the
 * worlds, the tests named for its folder, or all tests. With --worlds only the worlds are played.
 */
const MUTANTS = [
	// What was paid for.
	`paid/payments.ts => countSent();\n\t\tthis.keep(request); => countSent();`,
	`paid/payments.ts => countRefused();\n\t\tthis.forget(); => countRefused();`,
	`paid/payments.ts => this.log.spending.countSent(); =>`,
	`paid/payments.ts => return this.log.entries[this.key]; => return undefined;`,
	`speech/submit.ts => if (left && !('taskId' in left)) { => if (false) {`,
	`speech/submit.ts => record.keep({ state: 'task', taskId });\n\treport.progress => report.progress`,
	`speech/submit.ts => record.markSent({ state: 'sent' }); =>`,
	`speech/submit.ts => withDeadline(part.timeoutMs, work.canceled, => withDeadline(part.timeoutMs, begin,`,
	`run/generationRecord.ts => this.paid.markSent({ state: 'sent', asked: request }); =>`,
	`run/generationRecord.ts => this.paid.markRefused(); =>`,
	`run/run.ts => !outcomes.flat().some(isFailed) => outcomes.flat().some(isFailed)`,
	`api/retry.ts => if (repeat === 'create') return true; => if (repeat === 'create') return false;`,
	`api/retry.ts => if (!last.facts.maybeAccepted) => if (true)`,
	// Whose file.
	`generation/historyMatching.ts => const IMAGES_MS = 300_000; => const IMAGES_MS = 0;`,
	`generation/historySearch.ts => const LOOK_MS = 10_000; => const LOOK_MS = 10_000_000;`,
	// Waiting.
	`async/pollUntil.ts => pauseMs = 0;\n\t\t\tnextAt = now; => pauseMs = 0;`,
	`async/pollUntil.ts => nextAt = steadyNow() + pauseMs;\n\t} => nextAt = Infinity;\n\t}`,
	`async/pollUntil.ts => LAST_MS = 2000; => LAST_MS = -2000;`,
	`http/download.ts => if (!isTransient(made) => if (isTransient(made)`,
	`http/download.ts => // Closes the connection if the file was given up.\n\t\tanswer.close(); =>`,
	`http/download.ts => stream.destroy(tooMuch); =>`,
	`speech/webSocket.ts => if (users === 0 && current && !leaving) return this.use(undefined); =>`,
	// Pace.
	`pace/breaker.ts => this.failures = 0;\n\t\tthis.isOutage => this.isOutage`,
	`pace/breaker.ts => if (this.refusals > 0) this.learn(); =>`,
	`pace/breaker.ts => this.set(full, this.full === 0 ? full + 1 : full); => this.set(full, full + 1);`,
	`pace/breaker.ts => if (isMore && isFromBefore) this.set(underWay + 1, underWay + 2); =>`,
	`pace/pace.ts => this.creating--; =>`,
	`pace/pace.ts => this.underWay--; =>`,
	`pace/pace.ts => this.createLine.sendAway(); =>`,
	`run/concurrency.ts => this.active--; =>`,
	// The trigger.
	`activation/eventStore.ts => item.state = state; =>`,
	`activation/eventStore.ts => this.store[this.room] = { ...this.kept() } as IDataObject; =>`,
	`tasks/taskFollower.ts => this.notBefore = 0; =>`,
	`tasks/taskFollower.ts => if (!isProgress || emission === this.latest) await => await`,
	`activation/executionQueue.ts => [this.activation.scope, about, name] => [this.activation.scope, about, Math.random()]`,
	`generated/historyWatch.ts => await this.look(closing).then( => await Promise.resolve().then(`,
	// The token.
	`http/request.ts => const bearsToken = new URL(url).origin === request.credential.origin; => const bearsToken = true;`,
].map((line) => line.split(/ => ?/) as [file: string, from: string, to: string]);

/** Which tests are named for a folder. */
const TESTS: Record<string, string> = {
	paid: 'unit/paid unit/spending engine/modelCalls engine/spending engine/speechRetries',
	speech: 'engine/speech unit/notifications unit/deafServer',
	run: 'engine/video engine/concurrency unit/concurrency unit/job',
	api: 'engine/limits engine/outages',
	generation: 'engine/video unit/historySearch unit/claims',
	async: 'unit/pollUntil engine/speech',
	http: 'engine/downloads engine/refusedFiles engine/memory unit/credential',
	pace: 'engine/limits engine/outages worlds/worlds',
	activation: 'engine/trigger unit/eventStore',
	tasks: 'engine/trigger unit/eventStore unit/endedBefore',
	generated: 'engine/triggerGenerated unit/newEntries',
};

const root = join(import.meta.dirname, '../..');
const sources = execFileSync('git', ['ls-files', 'nodes'], { cwd: root, encoding: 'utf8' });
const [word = ''] = process.argv.slice(2).filter((each) => each !== '--worlds');
const onlyWorlds = process.argv.includes('--worlds');

async function run(args: string[], more: object = {}): Promise<{ text: string; failed: boolean }> {
	const env = { ...process.env, ...more };
	return await new Promise((resolve) => {
		execFile(process.execPath, args, { cwd: root, env, maxBuffer: 1e9 }, (error, told, errors) =>
			resolve({ text: told + errors, failed: error !== null }),
		);
	});
}

/** What finds a defect; undefined if nothing does. */
async function findsIt(path: string, mutant: string[], planted: string, text: string) {
	const worlds = [join(import.meta.dirname, 'main.mts'), '--count', '400', '--within', '25'];
	const { text: told } = await run([...worlds, '--first'], {
		WORLDS_MUTANT: JSON.stringify(mutant),
	});
	const [seed] = /seed \d+: .*/.exec(told) ?? [];
	if (seed || onlyWorlds) return seed;
	const named = TESTS[path.split('/').at(-2)!]!.split(' ').map((each) => `test/${each}`);
	writeFileSync(path, planted);
	try {
		for (const tests of [named, []]) {
			const { text: said, failed } = await run(['tools/run.mjs', 'test', ...tests]);
			if (failed) return /● .*/.exec(said)?.[0] ?? 'a test that does not begin';
		}
	} finally {
		writeFileSync(path, text);
	}
	return undefined;
}

let missed = 0;
for (const mutant of MUTANTS.filter(([file]) => file.includes(word))) {
	const [file, from, to = ''] = mutant;
	const paths = sources.split('\n').filter((path) => path.endsWith(`/${file}`));
	const path = join(root, paths[0] ?? file);
	const text = readFileSync(path, 'utf8');
	if (paths.length !== 1 || text.split(from).length !== 2) throw new Error(`${file}: ${from}`);
	const found = await findsIt(path, mutant, text.replace(from, to), text);
	if (!found) missed++;
	console.log(`${found ? 'found ' : 'MISSED'} ${file}: ${from.split('\n').at(-1)} | ${found}`);
}
console.log(`${missed} missed`);
