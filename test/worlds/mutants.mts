import { execFile } from 'node:child_process';
import { join } from 'node:path';

/*
 * node test/worlds/mutants.mts [WORD]: plants defects, one at a time and in memory only, and says which of
 * them the worlds find. What they miss has to be found by another test, or means nothing.
 */
const MUTANTS = [
	// What was paid for.
	`paid/payments.ts => this.spending.countSent();\n\t\tthis.keep(request); => this.spending.countSent();`,
	`paid/payments.ts => this.spending.countRefused();\n\t\tthis.forget(); => this.spending.countRefused();`,
	`paid/paidLog.ts => return entriesOf(this.store)[key]; => return undefined;`,
	`speech/speakPart.ts => if (left?.state === 'sent') { => if (left?.state === 'made') {`,
	`speech/speakPart.ts => record.keep({ state: 'task', taskId });\n\treport.progress => report.progress`,
	`speech/speakPart.ts => record.markSent({ state: 'sent', sentAt }); =>`,
	`speech/speakPart.ts => withDeadline(limitMs, work.canceled, => withDeadline(limitMs, part.signal,`,
	`run/generationRecord.ts => this.paid.markSent({ state: 'sent', sentAt, asked: request }); =>`,
	`run/generationRecord.ts => this.paid.keep({ state, sentAt: request!.sentAt, why, asked: request }); =>`,
	`run/generationRecord.ts => if (!request || !mayStillCome) { => if (request) {`,
	`run/run.ts => !outcomes.flat().some(isFailed) => outcomes.flat().some(isFailed)`,
	`api/retry.ts => if (repeat === 'create') return true; => if (repeat === 'create') return false;`,
	`api/retry.ts => if (!last.facts.maybeAccepted) => if (true)`,
	// Whose file.
	`generation/historyMatching.ts => const IMAGES_MS = 300_000; => const IMAGES_MS = 0;`,
	`generation/sentRequests.ts => const SEARCH_MS = 600_000; => const SEARCH_MS = 6_000;`,
	`run/generationJob.ts => cut } = earlier => cut } = false as boolean`,
	// Waiting.
	`async/pollUntil.ts => this.isAnnounced = true; =>`,
	`async/pollUntil.ts => this.nextAt = steadyNow() + this.pauseMs; => this.nextAt = Infinity;`,
	`speech/speakPart.ts => order.limitMs, part.signal => order.limitMs * 9, part.signal`,
	`http/download.ts => if (!isTransient(made) => if (isTransient(made)`,
	`http/download.ts => // Closes the connection if the file was given up.\n\t\tanswer.close(); =>`,
	`speech/webSocket.ts => if (this.current && !this.leaving) this.askToClose(this.current);\n =>`,
	// Pace.
	`pace/breaker.ts => this.failures = 0;\n\t\tthis.probedAt => this.probedAt`,
	`pace/pace.ts => this.creating--; =>`,
	`pace/pace.ts => this.underWay--; =>`,
	`pace/pace.ts => this.createLine.sendAway(); =>`,
	`pace/pause.ts => this.ms = Math.max(0, this.ms - this.recoveryMs); =>`,
	// The trigger.
	`tasks/taskStore.ts => if (task) task.state = isEmitted => if (!task) task!.state = isEmitted`,
	`tasks/taskStore.ts => Object.assign(this.store, this.kept()); =>`,
	`tasks/taskStore.ts => this.tasks.set(taskId, { ...task, state: 'over' }); =>`,
	`activation/executionQueue.ts => if (this.lines.get(about)?.end === end) this.lines.delete(about); =>`,
	`activation/executionQueue.ts => [this.scope, about, name] => [this.scope, about, Math.random()]`,
	`generated/historyWatch.ts => await this.look(closing).then( => await Promise.resolve().then(`,
	// The token.
	`http/request.ts => const bearsToken = new URL(url).origin === request.credential.origin; => const bearsToken = true;`,
].map((line) => line.split(/ => ?/) as [file: string, from: string, to?: string]);

const word = process.argv[2] ?? '';
const main = join(import.meta.dirname, 'main.mts');
let missed = 0;
for (const mutant of MUTANTS.filter(([file]) => file.includes(word))) {
	const env = { ...process.env, WORLDS_MUTANT: JSON.stringify(mutant) };
	const args = [main, '--count', '400', '--within', '25', '--first'];
	const output = await new Promise<string>((resolve) => {
		execFile(process.execPath, args, { env }, (_, told, errors) => resolve(told + errors));
	});
	const [found = ''] = /seed \d+: .*/.exec(output) ?? [];
	if (!found) missed++;
	console.log(
		`${found ? 'found ' : 'MISSED'} ${mutant[0]}: ${mutant[1].split('\n').at(-1)!.trim()} | ${found || output.trim().split('\n').at(-1)}`,
	);
}
console.log(`${missed} missed`);
