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
 * Everything that is known to go wrong with the service and on the way to it, and what comes of it.
 * Each row runs in n8n's engine (faults.test.ts); docs/faults.md is made of it (document.test.ts).
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
export type Case = [name: string, row: Row, operation: Operation, goesOn: boolean];

/** Every row with each of its operations; those that take long in front. */
export function casesOf(isWanted: (row: Row) => boolean): Case[] {
	const cases = MATRIX.flatMap(({ title, rows }) =>
		rows.filter(isWanted).flatMap((row) =>
			row.operations.map((operation, index): Case => {
				const goesOn = row.fails !== undefined && index % 2 === 1;
				const mode = goesOn ? ', On Error → Continue' : '';
				return [`${title}: ${row.fault} (${operation}${mode})`, row, operation, goesOn];
			}),
		),
	);
	const isLong = ([, row]: Case) => Number(row.isLong ?? false);
	return cases.sort((a, b) => isLong(b) - isLong(a));
}

/** The expression that the words of a row stand for. */
const expressionOf = (words: string): RegExp =>
	new RegExp(
		words
			.split('…')
			.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
			.join('.*'),
		's',
	);

/** Whatever the service says of a failure has the token in it, and `{token}` stands for it. */
function echoing(action: FaultAction, token: string): FaultAction {
	if (Buffer.isBuffer(action.respond?.body)) return action;
	const said = /(\\*"(?:error|message|detail|msg)\\*":\\*"\w[^"\\]*|<title>Oops)/g;
	const text = JSON.stringify(action).replace(said, '$1 {token}');
	return JSON.parse(text.replaceAll('{token}', echo(token)));
}

/**
 * Runs one case in n8n's engine, with `goesOn` in a node that goes on when an item fails. Throws when
 * anything else comes of it than its row says.
 */
export async function play(row: Row, operation: Operation, goesOn: boolean): Promise<void> {
	const { fails, hints = '', sent = 1, paid = 1 } = row;
	await onStage(
		operation,
		async (stage) => {
			for (const { action, ...which } of row.faults ?? []) {
				stage.sim.fault({ ...which, action: echoing(action, stage.sim.token) });
			}
			const setting = { ...row.setting, ...(await row.make?.(stage)) };
			if (goesOn) setting.node = { ...setting.node, onError: 'continueRegularOutput' };
			const running = await stage.begin(setting);
			await Promise.all([row.during?.(stage), running.finished]);
			const result = await running.finished;
			if (fails !== undefined) {
				const words = wordsOfFailure(result).replace(/ \*+(?: and \*+)*/g, '');
				assert.match(words, expressionOf(fails));
				// What is not paid is not said to be, and the history lists no speech, but may list what other nodes made.
				const isUnpaid = isPaid(operation) && paid === 0 && !/charged|accepted/.test(fails);
				if (isUnpaid) assert.doesNotMatch(words, /charged/);
				if (isPaid(operation) && operation.startsWith('speech:') && !/History/.test(fails))
					assert.doesNotMatch(words, /History/);
			} else {
				const isFetched = setting.options?.download !== false;
				await assertWhole(stage, result, { isFetched, isOwnFile: row.isOwnFile });
				const said = result.hints(NODE).map(({ message }) => message);
				assert.match(said.join(' '), expressionOf(hints));
				const long = said.filter((hint) => hint.length > 120);
				assert.deepEqual(long, [], 'hints have at most 120 characters');
			}
			const calls = { sent: stage.posts(), paid: stage.paid };
			assert.deepEqual(calls, isPaid(operation) ? { sent, paid } : { sent: 0, paid: 0 });
			await assertClean(stage, result);
			row.check?.(stage, result);
		},
		row.service,
	);
}
