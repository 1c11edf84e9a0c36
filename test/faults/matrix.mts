import assert from 'node:assert/strict';
import type { FaultAction } from '../../simulator/simulator.mts';
import { echo } from './canary.mts';
import { assertClean, assertWhole, wordsOfFailure } from './check.mts';
import { FILES } from './files.mts';
import { HTTP } from './http.mts';
import { LIMITS } from './limits.mts';
import { NETWORK } from './network.mts';
import type { Row } from './row.mts';
import { SOCKETS } from './sockets.mts';
import { SPEECH } from './speech.mts';
import { isPaid, type Operation } from '../service/operations.mts';
import { NODE, onStage } from './stage.mts';
import { STREAMS } from './streams.mts';

/**
 * All known faults of the service and of the way to it, and the outcome of each. faults.test.ts runs the rows in n8n's
 * engine, and document.test.ts makes docs/faults.md from them.
 */
export const MATRIX: Array<{ title: string; rows: Row[] }> = [
	...NETWORK,
	...SOCKETS,
	...HTTP,
	...SPEECH,
	...STREAMS,
	...FILES,
	...LIMITS,
];
export type Case = [name: string, row: Row, operation: Operation, continuesOnFail: boolean];

/** Returns a case for each row and each of its operations. Those that take long come first. */
export function casesOf(isWanted: (row: Row) => boolean): Case[] {
	const cases = MATRIX.flatMap(({ title, rows }) =>
		rows.filter(isWanted).flatMap((row) =>
			row.operations.map((operation, index): Case => {
				const continuesOnFail = row.fails !== undefined && index % 2 === 1;
				const mode = continuesOnFail ? ', On Error → Continue' : '';
				return [`${title}: ${row.fault} (${operation}${mode})`, row, operation, continuesOnFail];
			}),
		),
	);
	const isLong = ([, row]: Case) => Number(row.isLong ?? false);
	return cases.sort((a, b) => isLong(b) - isLong(a));
}

/** Returns the regular expression for the words of a row, in which … stands for anything. */
const expressionOf = (words: string): RegExp =>
	new RegExp(
		words
			.split('…')
			.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
			.join('.*'),
		's',
	);

/** Adds the token to all texts of a fault that a message may quote, and puts it in the place of `{token}`. */
function echoing(action: FaultAction, token: string): FaultAction {
	if (Buffer.isBuffer(action.respond?.body)) return action;
	const quoted = /(\\*"(?:error|message|detail|msg)\\*":\\*"\w[^"\\]*|<title>Oops)/g;
	const text = JSON.stringify(action).replace(quoted, '$1 {token}');
	return JSON.parse(text.replaceAll('{token}', echo(token)));
}

/**
 * Runs one case in n8n's engine. If `continuesOnFail` is true, On Error of the node is Continue. Throws if the outcome is
 * not that of the row.
 */
export async function play(
	row: Row,
	operation: Operation,
	continuesOnFail: boolean,
): Promise<void> {
	const { fails, hints = '', sent = 1, paid = 1 } = row;
	await onStage(
		operation,
		async (stage) => {
			for (const { action, ...which } of row.faults ?? []) {
				stage.sim.fault({ ...which, action: echoing(action, stage.sim.token) });
			}
			const setting = { ...row.setting, ...(await row.make?.(stage)) };
			if (continuesOnFail) setting.node = { ...setting.node, onError: 'continueRegularOutput' };
			const running = await stage.start(setting);
			await Promise.all([row.during?.(stage), running.finished]);
			const result = await running.finished;
			if (fails !== undefined) {
				const words = wordsOfFailure(result).replace(/ \*+(?: and \*+)*/g, '');
				assert.match(words, expressionOf(fails));
				// If nothing was charged, no message may say so. The history lists no speech.
				const isUnpaid = isPaid(operation) && paid === 0 && !/charged|accepted/.test(fails);
				if (isUnpaid) assert.doesNotMatch(words, /charged/);
				if (isPaid(operation) && operation.startsWith('speech:') && !/History/.test(fails))
					assert.doesNotMatch(words, /History/);
			} else {
				const isFetched = setting.options?.download !== false;
				await assertWhole(stage, result, { isFetched, isOwnFile: row.isOwnFile });
				const messages = result.hints(NODE).map(({ message }) => message);
				assert.match(messages.join(' '), expressionOf(hints));
				const long = messages.filter((hint) => hint.length > 120);
				assert.deepEqual(long, [], 'hints have at most 120 characters');
			}
			const calls = { sent: stage.countCreateCalls(), paid: stage.paid };
			assert.deepEqual(calls, isPaid(operation) ? { sent, paid } : { sent: 0, paid: 0 });
			await assertClean(stage, result);
			row.check?.(stage, result);
		},
		row.service,
	);
}
