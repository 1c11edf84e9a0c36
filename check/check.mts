/* One check of a service, from the questions that cost nothing to the recording. */
import { redactor } from '../nodes/shared/parsing/redaction.ts';
import { FREE, LATE, OWN_TEXTS, runAll } from './operations.mts';
import { paidRows } from './paid.mts';
import { askAll, MISSING_PART, type Service } from './questions.mts';
import { StandIns, type Recording } from './recording.mts';
import { gradeOf, type Row } from './report.mts';
import { Wire } from './wire.mts';

interface Checked {
	rows: Row[];
	recording: Recording;
	/** What was replaced in it, by kind. */
	replaced: string[];
}

/** Asks, lets the node do the paid operations named and the free ones, and records all of it. */
export async function check(
	service: Service,
	pay: string[],
	say: (what: string) => void,
): Promise<Checked> {
	const made = new Date().toISOString();
	const wire = new Wire();
	try {
		const { rows, voice } = await askAll(wire, service, say);
		const works = gradeOf(rows) !== 'fails';
		const operations = works ? [...FREE, ...pay.filter((name) => name !== 'speech' || voice)] : [];
		const base = new URL(service.baseUrl);
		const socket = new URL(service.webSocketUrl.replace(/^ws/, 'http'));
		const credential = {
			apiToken: service.token,
			baseUrl: (await wire.through(base.origin)) + base.pathname.replace(/\/$/, ''),
			webSocketUrl:
				(await wire.through(socket.origin)).replace('http', 'ws') +
				socket.pathname.replace(/\/$/, ''),
		};
		const outcomes = await runAll(operations, { credential, voice }, (operation) => {
			wire.cutStreams = operation === 'dropped';
			say(`the node: ${operation}`);
		});
		for (const { operation, lines } of outcomes) {
			const error = lines.find((line) => line.startsWith('error: '));
			if (operation === 'missing') tellOfMissing(rows, error);
			else if (error && FREE.includes(operation)) {
				rows.push({
					part: `The node: ${operation}`,
					found: 'different',
					differs: '',
					inN8n: error,
					grade: 'limits',
				});
			}
		}
		if (works) rows.push(...paidRows(wire.exchanges, outcomes, pay));
		const standIns = new StandIns(service.token, OWN_TEXTS, wire.aliases);
		const exchanges = wire.exchanges.map((exchange) => standIns.exchange(exchange));
		const recording: Recording = {
			...{ format: 1, made, operations },
			voice: voice && standIns.id(voice),
			outcomes: outcomes.map(({ operation, lines }) => {
				return { operation, lines: lines.map((line) => standIns.sentence(line)) };
			}),
			exchanges,
		};
		return { rows: redactor(service.token).value(rows), recording, replaced: standIns.counts() };
	} finally {
		await wire.close();
	}
}

/** A task that does not exist has to end in an error, and soon. */
function tellOfMissing(
	rows: Row[],
	error = 'no error: waiting for a wrong task ID ends with its Timeout',
): void {
	const isSoon = error.startsWith('error: ') && error !== LATE;
	const row = rows.find(({ part }) => part === MISSING_PART);
	if (row) Object.assign(row, { inN8n: error, grade: isSoon ? 'works' : 'limits' });
}
