/* Checks one service: sends the requests that cost nothing, runs the node, and records every exchange. */
import { askAll, type Answers } from './ask.mts';
import { FREE_OPERATIONS, makesSpeech, PAID, runAll, STOPPED } from './operations.mts';
import { redactorOf, StandIns, type Outcome, type Recording } from './recording.mts';
import type { Row } from './report.mts';
import { blockedRows, chargeLines, edgeRow, freeRows, paidRows } from './rows.mts';
import { Wire } from './wire.mts';

/** The texts and prompts that the check itself sends. They identify nobody, so the recording keeps them. */
const OWN_TEXTS = Object.values(PAID).map(({ text }) => text);

export interface Service {
	baseUrl: string;
	webSocketUrl: string;
	token: string;
}

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
 * Sends the requests that cost nothing, lets the node run the free operations and those named in `pay` (unless the
 * first answers show that this is pointless), and records all exchanges.
 * `onStep` is called with a name for each step.
 *
 * Rejects if the check fails or is stopped before the node runs. Later, resolves with the error as `failure`, so that
 * whatever may have been charged is still recorded and named.
 */
export async function check(
	{ baseUrl, webSocketUrl, token }: Service,
	pay: string[],
	onStep: (what: string) => void,
	stop = new AbortController().signal,
): Promise<CheckResult> {
	const madeAt = new Date().toISOString();
	const wire = new Wire();
	const { exchanges } = wire;
	try {
		const credential = {
			apiToken: token,
			baseUrl: await wire.localUrlOf(baseUrl),
			webSocketUrl: (await wire.localUrlOf(webSocketUrl)).replace('http', 'ws'),
		};
		const isBlocked = (answers: Answers) => blockedRows(answers, baseUrl).length > 0;
		const answers = await askAll(wire, credential, isBlocked, onStep, stop);
		const { voice, account } = answers;
		const blocked = blockedRows(answers, baseUrl);
		const payable = pay.filter((name) => !makesSpeech(name) || voice !== undefined);
		const planned = blocked.length > 0 ? [] : [...FREE_OPERATIONS, ...payable];
		wire.by = 'node';
		const before = (operation: string) => {
			wire.cutStreams = operation === 'dropped';
			onStep(`the node: ${operation}`);
		};
		const outcomes: Outcome[] = [];
		let failure: unknown;
		try {
			const plan = { operations: planned, voice, exchanges, stop, before };
			for await (const { operation, lines } of runAll(plan, credential))
				outcomes.push({ operation, lines: lines.map(wire.withRealOrigins) });
			stop.throwIfAborted();
		} catch (error) {
			failure = error;
		}
		await wire.close();
		let rows: Row[] = [];
		try {
			rows =
				blocked.length > 0
					? [...(account.status === 0 ? [] : [edgeRow(answers)]), ...blocked]
					: [...freeRows(answers, outcomes), ...paidRows(exchanges, outcomes, pay)];
		} catch (error) {
			failure ??= error;
		}
		const standIns = new StandIns(token, OWN_TEXTS);
		const anonymized = standIns.exchanges(exchanges);
		const ended = outcomes.filter(({ lines }) => !lines.includes(STOPPED));
		const recording: Recording = {
			...{ format: 1, made: madeAt, voice: voice && standIns.id(voice) },
			outcomes: ended.map((each) => ({ ...each, lines: each.lines.map(standIns.line) })),
			exchanges: anonymized,
		};
		const redact = redactorOf(token);
		const charged = chargeLines(exchanges).map(redact.text);
		return { failure, rows: redact.value(rows), recording, replaced: standIns.counts(), charged };
	} finally {
		await wire.close();
	}
}
