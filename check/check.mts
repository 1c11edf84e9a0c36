/* One check of a service, from the questions that cost nothing to the recording. */
import { askAll, type Asked } from './ask.mts';
import { FREE_OPERATIONS, makesSpeech, PAID, runAll, STOPPED } from './operations.mts';
import { redactorOf, StandIns, type Outcome, type Recording } from './recording.mts';
import type { Row } from './report.mts';
import { blockedRows, chargedOf, edgeRow, freeRows, paidRows } from './rows.mts';
import { Wire } from './wire.mts';

/** What the check says itself: it stays in the recording. */
const OWN_TEXTS = Object.values(PAID).map(({ text }) => text);

export interface Service {
	baseUrl: string;
	webSocketUrl: string;
	token: string;
}

interface Checked {
	/** Why it ended before its time. */
	failure?: unknown;
	rows: Row[];
	recording: Recording;
	/** What was replaced in it, by kind. */
	replaced: string[];
	/** What was made, with the ids that tell it apart. */
	charged: string[];
}

/**
 * Asks, lets the node do what is free and what is named in `pay`, and records all of it. Once something may have
 * been charged, it is recorded and named also if the check is stopped or fails.
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
