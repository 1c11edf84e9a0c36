import assert from 'node:assert/strict';
import { assertClean, assertWhole, wordsOfFailure } from './check.mts';
import { MATRIX } from './matrix.mts';
import { expectedCalls, wordsOf, type Row } from './row.mts';
import { NODE, Stage, type Operation } from './stage.mts';

export type Case = [name: string, row: Row, operation: Operation, goesOn: boolean];

/** Every row with each of its operations; those that take long in front. */
export function casesOf(isWanted: (row: Row) => boolean): Case[] {
	const cases = MATRIX.flatMap(({ title, rows }) =>
		rows.filter(isWanted).flatMap((row) =>
			row.operations.map((operation, index): Case => {
				const goesOn = row.outcome === 'fails' && index % 2 === 1;
				const mode = goesOn ? ', On Error → Continue' : '';
				return [`${title}: ${row.fault} (${operation}${mode})`, row, operation, goesOn];
			}),
		),
	);
	const isLong = ([, row]: Case) => Number(row.isLong ?? false);
	return cases.sort((a, b) => isLong(b) - isLong(a));
}

/**
 * Runs one case in n8n's engine, with `goesOn` in a node that goes on when an item fails. Throws when
 * anything else comes of it than its row says.
 */
export async function play(row: Row, operation: Operation, goesOn: boolean): Promise<void> {
	const stage = await Stage.open(operation, row.service);
	try {
		const more = (await row.make?.(stage)) ?? {};
		const setting = { ...row.setting, ...more };
		if (goesOn) setting.node = { ...setting.node, onError: 'continueRegularOutput' };
		const running = await stage.begin(setting);
		await Promise.all([row.during?.(stage), running.finished]);
		const result = await running.finished;
		if (row.outcome === 'result') {
			await assertWhole(stage, result, setting.options?.download !== false);
			const hints = result.hints(NODE).map(({ message }) => message);
			if (row.says) assert.match(hints.join(' '), wordsOf(row.says));
		} else {
			assert.match(wordsOfFailure(result), wordsOf(row.says ?? ''));
		}
		assert.deepEqual({ sent: stage.posts(), paid: stage.paid }, expectedCalls(row, operation));
		await assertClean(stage, result);
		row.check?.(stage, result);
	} finally {
		await stage.close();
	}
}
