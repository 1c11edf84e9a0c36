/* Checks one service: sends the requests that cost nothing, runs the node, and records every exchange. */
import { askMore } from './ask.mts';
import {
	FREE_OPERATIONS,
	runOperation,
	runPaid,
	STOPPED,
	type Credential,
	type Run,
	isGood,
} from './operations.mts';
import { redactorOf, StandIns, type Recording } from './recording.mts';
import type { Row } from './report.mts';
import { blockedRow, chargeLines, rowsOf, voiceIn } from './rows.mts';
import type { Exchange } from './wire.mts';

interface CheckResult {
	/** The error that ended the check early; undefined if nothing did. */
	failure?: unknown;
	rows: Row[];
	recording: Recording;
	/** How many values were replaced in the recording, for each kind. */
	replaced: string[];
	/** The requests that may have been charged, each with its kind and ids. */
	charged: string[];
}

/**
 * Lets the node run the free operations and those named in `pay` (unless the free ones show that this is pointless),
 * asks what the node does not ask, and records all exchanges. `onStep` is called with a name for each step.
 *
 * Never rejects once requests may have been sent: whatever came of them is recorded and named, with the `failure`.
 */
export async function check(
	given: Omit<Credential, 'redact'>,
	pay: string[],
	onStep: (what: string) => void,
	stop = new AbortController().signal,
): Promise<CheckResult> {
	const made = new Date().toISOString();
	const credential = { ...given, redact: redactorOf(given.apiToken) };
	const standIns = new StandIns();
	const rows: Row[] = [];
	const runs: Run[] = [];
	let failure: unknown;
	onStep('the account, voices, history, and a task that does not exist');
	const others: Exchange[] = [];
	try {
		const free = FREE_OPERATIONS.map((each) => runOperation(each, credential, stop));
		runs.push(...(await Promise.all(free)));
		stop.throwIfAborted();
		if (runs.some((run) => run.operation !== 'missing' && isGood(run))) {
			onStep('other pages, a wrong token, and ten seconds of WebSocket');
			const asked = await askMore(credential, runs[0]!, stop);
			const { otherPages, wrongToken, socket } = asked;
			others.push(...otherPages, ...wrongToken.exchanges, socket);
			stop.throwIfAborted();
			const before = (operation: string) => onStep(`the node: ${operation}`);
			const plan = { pay, voice: voiceIn(runs), hasSocket: socket.status === 101, before, stop };
			try {
				for await (const run of runPaid(plan, credential)) runs.push(run);
			} finally {
				rows.push(...rowsOf(runs, asked, pay, standIns));
			}
		} else rows.push(blockedRow(standIns.shownRun(runs[0]!)));
		stop.throwIfAborted();
	} catch (error) {
		failure = error;
	}
	const isStopped = ({ lines }: Run) => lines.includes(STOPPED);
	const recording: Recording = {
		format: 3,
		made,
		runs: runs.filter((run) => !isStopped(run)).map((run) => standIns.run(run)),
		others: others
			.concat(runs.filter(isStopped).flatMap(({ exchanges }) => exchanges))
			.map((exchange) => standIns.exchange(exchange)),
	};
	return { failure, rows, recording, replaced: standIns.counts(), charged: chargeLines(runs) };
}
