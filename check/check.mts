/* Checks one service: asks what costs nothing, runs the node, and records every exchange. */
import { askAll, type Asked } from './ask.mts';
import { FREE_OPERATIONS, makesSpeech, PAID, runAll, STOPPED } from './operations.mts';
import { redactorOf, StandIns, type Outcome, type Recording } from './recording.mts';
import type { Row } from './report.mts';
import { blockedRows, chargedOf, edgeRow, freeRows, paidRows } from './rows.mts';
import { Wire } from './wire.mts';

/** The texts and prompts that the check itself sends. They identify nobody, so the recording keeps them. */
const OWN_TEXTS = Object.values(PAID).map(({ text }) => text);

export interface Service {
	baseUrl: string;
	webSocketUrl: string;
	token: string;
}

interface Checked {
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
 * Asks what costs nothing, lets the node run the free operations and those named in `pay`, and records all exchanges.
 * `say` is called with a name for each step.
 *
 * Rejects if the check fails or is stopped before the node runs. Later, resolves with the error as `failure`, so that
 * whatever may have been charged is still recorded and named.
 */
export async function check(
	{ baseUrl, webSocketUrl, token }: Service,
	pay: string[],
	say: (what: string) => void,
	stop = new AbortController().signal,
): Promise<Checked> {
	const made = new Date().toISOString();
	const wire = new Wire();
	const { exchanges } = wire;
	try {
		const credential = {
			apiToken: token,
			baseUrl: await wire.through(baseUrl),
			webSocketUrl: (await wire.through(webSocketUrl)).replace('http', 'ws'),
		};
		const isBlocked = (asked: Asked) => blockedRows(asked, baseUrl).length > 0;
		const asked = await askAll(wire, credential, isBlocked, say, stop);
		const { voice, account } = asked;
		const blocked = blockedRows(asked, baseUrl);
		const payable = pay.filter((name) => !makesSpeech(name) || voice !== undefined);
		const planned = blocked.length > 0 ? [] : [...FREE_OPERATIONS, ...payable];
		wire.by = 'node';
		const before = (operation: string) => {
			wire.cutStreams = operation === 'dropped';
			say(`the node: ${operation}`);
		};
		const outcomes: Outcome[] = [];
		let failure: unknown;
		try {
			const plan = { operations: planned, voice, exchanges, stop, before };
			for await (const { operation, lines } of runAll(plan, credential))
				outcomes.push({ operation, lines: lines.map(wire.real) });
			stop.throwIfAborted();
		} catch (error) {
			failure = error;
		}
		await wire.close();
		let rows: Row[] = [];
		try {
			rows =
				blocked.length > 0
					? [...(account.status === 0 ? [] : [edgeRow(asked)]), ...blocked]
					: [...freeRows(asked, outcomes), ...paidRows(exchanges, outcomes, pay)];
		} catch (error) {
			failure ??= error;
		}
		const standIns = new StandIns(token, OWN_TEXTS);
		const kept = standIns.exchanges(exchanges);
		const ended = outcomes.filter(({ lines }) => !lines.includes(STOPPED));
		const recording: Recording = {
			...{ format: 1, made, voice: voice && standIns.id(voice) },
			outcomes: ended.map((each) => ({ ...each, lines: each.lines.map(standIns.line) })),
			exchanges: kept,
		};
		const redact = redactorOf(token);
		const charged = chargedOf(exchanges).map(redact.text);
		return { failure, rows: redact.value(rows), recording, replaced: standIns.counts(), charged };
	} finally {
		await wire.close();
	}
}
