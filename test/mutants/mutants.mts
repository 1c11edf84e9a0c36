import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Defects: the end of a file's path, what stands in it exactly once, and what is planted instead. */
export const MUTANTS = [
	// What was paid for.
	`paid/journal.ts => reservedBy.delete(this.sharedKey);\n\t\tthis.write(value); => reservedBy.delete(this.sharedKey);\n\t\tvoid value;`,
	`paid/journal.ts => this.journal);\n\t\tthis.deleteEverywhere(); => this.journal);`,
	`paid/journal.ts => sharedCalls().reservedBy.delete(this.sharedKey); =>`,
	`paid/journal.ts => owner?.unreserve(call.sharedKey); =>`,
	`paid/journal.ts => return (isIgnored ? undefined : value) ?? this.journal.recentRequests?.get(this.recentKey); => void isIgnored; return undefined;`,
	`paid/recentRequests.ts => destination !== undefined && destination !== context.getNode().name => destination !== undefined`,
	`speech/submit.ts => report.logCharge('speech', { task: taskId }); =>`,
	`speech/submit.ts => entry.write({ state: 'task', taskId, createdAt: Date.now(), accountKey });\n\treport.progress => void accountKey; report.progress`,
	`speech/submit.ts => entry.setSent({ state: 'sent' }); => void entry;`,
	`run/generationCall.ts => this.entry.setSent({ state: 'sent', request: this.request }); =>`,
	`run/generationCall.ts => this.entry.setNotAccepted(); =>`,
	`run/run.ts => !resultsByItem.flat().some(isFailed) => resultsByItem.flat().some(isFailed)`,
	`api/retry.ts => if (isCreateCall(call)) return true; => if (isCreateCall(call)) return false;`,
	`api/retry.ts => if (!lastFailure.facts.mayBeCharged) => if (true)`,
	// Whose file.
	`generation/historyMatching.ts => request.hasHiddenInputs || =>`,
	`generation/historyMatching.ts => const provenEntries = new Set(ownersByEntry.keys()); => const provenEntries = new Set();`,
	`generation/historySearch.ts => const SEARCH_INTERVAL_MS = 10_000; => const SEARCH_INTERVAL_MS = 10_000_000;`,
	// Waiting.
	`async/pollSchedule.ts => return readAfter(0, true); => return schedule;`,
	`async/pollSchedule.ts => nextAt: Math.min(nextAt, now + ms) => nextAt: now + ms`,
	`async/pollSchedule.ts => nextAt: now + ms, => nextAt: Infinity,`,
	`async/pollUntil.ts => MAX_FINAL_READ_MS = 2000; => MAX_FINAL_READ_MS = -2000;`,
	`http/download.ts => if (!isTransient(result) => if (Date.now() > 0 || !isTransient(result)`,
	`http/download.ts => // Closes the connection if the download was abandoned.\n\t\tresponse.close(); =>`,
	`http/download.ts => stream.destroy(tooLargeFailure); => void tooLargeFailure;`,
	`speech/accountSocket.ts => if (userCount === 0 && current && !closing) return this.switchTo(undefined); =>`,
	// Pace.
	`pace/circuitBreaker.ts => this.consecutiveFailures = 0;\n\t\tthis.isOutage => this.isOutage`,
	`pace/circuitBreaker.ts => if (sentAt <= this.openedAt) return; => void sentAt;`,
	`pace/requestInterval.ts => this.ms * STEP => this.ms`,
	`pace/concurrencyLimit.ts => this.cutTo(inFlight > 0 ? Math.max(1, DECREASE * inFlight) : this.limitIfAlone(2)); => void DECREASE;`,
	`pace/concurrencyLimit.ts => this.cutTo(Math.min(this.current, inFlight || this.limitIfAlone(16))); => void inFlight;`,
	`pace/failFast.ts => this.isQuotaExhausted = false; =>`,
	`pace/throttle.ts => this.unansweredCreates--; =>`,
	`pace/throttle.ts => this.inFlight--; =>`,
	`pace/throttle.ts => this.nextBackgroundAt = monotonicNow() + backgroundMs; => void backgroundMs;`,
	`run/concurrency.ts => this.usedSlots += count; =>`,
	// The trigger.
	`n8n/selfStart.ts => if (context.getMode() !== 'trigger') return undefined; => if (context.getMode()) return undefined;`,
	`activation/outbox.ts => item.state = state; =>`,
	`activation/outbox.ts => for (const staticData of this.copies()) staticData[this.namespace] = text; => void text;`,
	`tasks/taskPoller.ts => emission !== this.latestEmission => this.latestEmission === undefined`,
	`activation/executionQueue.ts => [this.activation.identityKey, outboxKey, name] => [this.activation.identityKey, outboxKey, name, Math.random()]`,
	`generated/historyWatch.ts => (pageNumber === 1 ? MAX_SHARED_READ_AGE_MS : 0) => MAX_SHARED_READ_AGE_MS`,
	`generated/historyWatch.ts => await this.poll(closing).then( => await Promise.resolve().then(`,
	// The token.
	`http/request.ts => const bearsToken = new URL(url).origin === request.credential.origin; => const bearsToken = true;`,
].map((line) => line.split(/ => ?/) as [file: string, from: string, to: string]);

/** The file of a mutant, and its text. Throws where its code is not there, or more than once. */
export function textOf(file: string, from: string): { path: string; text: string } {
	const [path = file] = globSync(join(root, 'nodes/**', file));
	const text = readFileSync(path, 'utf8');
	if (text.split(from).length !== 2) throw new Error(`${file}: ${from}`);
	return { path, text };
}
