/* One check of a service, from the questions that cost nothing to the recording. */
import { askAll } from './ask.mts';
import { FREE, OWN_TEXTS, runAll } from './operations.mts';
import { StandIns, type Recording } from './recording.mts';
import type { Row } from './report.mts';
import { blockedRows, edgeRow, freeRows, paidRows } from './rows.mts';
import { Wire } from './wire.mts';
import { redactor } from './reading.mts';

export interface Service {
	baseUrl: string;
	webSocketUrl: string;
	token: string;
}

interface Checked {
	rows: Row[];
	recording: Recording;
	/** What was replaced in it, by kind. */
	replaced: string[];
}

/** Asks, lets the node do what is free and what is named in `pay`, and records all of it. */
export async function check(
	{ baseUrl, webSocketUrl, token }: Service,
	pay: string[],
	say: (what: string) => void,
): Promise<Checked> {
	const made = new Date().toISOString();
	const wire = new Wire();
	const through = async (address: string) => {
		const { origin, pathname } = new URL(address.replace(/^ws/, 'http'));
		return (await wire.through(origin)) + pathname.replace(/\/$/, '');
	};
	try {
		const credential = {
			apiToken: token,
			baseUrl: await through(baseUrl),
			webSocketUrl: (await through(webSocketUrl)).replace('http', 'ws'),
		};
		const isBlocked = (asked: Parameters<typeof blockedRows>[0]) =>
			blockedRows(asked, baseUrl).length > 0;
		const asked = await askAll(wire, credential, isBlocked, say);
		const { voice, account } = asked;
		const blocked = blockedRows(asked, baseUrl);
		const payable = pay.filter((name) => name !== 'speech' || voice !== undefined);
		const operations = blocked.length > 0 ? [] : [...FREE, ...payable];
		wire.by = 'node';
		const outcomes = await runAll(operations, credential, voice, (operation) => {
			wire.cutStreams = operation === 'dropped';
			say(`the node: ${operation}`);
		});
		// The node knows the service by other addresses.
		const real = (line: string) =>
			[...wire.aliases].reduce((all, [local, origin]) => all.replaceAll(local, origin), line);
		for (const each of outcomes) each.lines = each.lines.map(real);
		const rows =
			blocked.length > 0
				? [...(account.status === 0 ? [] : [edgeRow(asked)]), ...blocked]
				: [...freeRows(asked, outcomes), ...paidRows(wire.exchanges, outcomes, pay)];
		const standIns = new StandIns(token, OWN_TEXTS, wire.aliases);
		const exchanges = standIns.exchanges(wire.exchanges);
		const lines = (of: string[]) => of.map((line) => standIns.line(line));
		const recording: Recording = {
			...{ format: 1, made, operations, voice: voice && standIns.id(voice) },
			outcomes: outcomes.map((each) => ({ ...each, lines: lines(each.lines) })),
			exchanges,
		};
		return { rows: redactor(token).value(rows), recording, replaced: standIns.counts() };
	} finally {
		await wire.close();
	}
}
