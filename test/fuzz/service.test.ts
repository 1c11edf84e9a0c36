import { removeEngineFolder } from '../../demo/engine.mts';
import { assertClean } from '../faults/check.mts';
import { onStage } from '../faults/stage.mts';
import { answers } from './corpus';

afterAll(() => removeEngineFolder());

/** Words of a program, not of somebody who explains. */
const ODD =
	/undefined|\[object|\bNaN\b|\.[jt]s:\d+|^\s*$|^null$|call stack|is not a function|Cannot read|Unexpected token|TypeError|URI malformed|Something unexpected|<html/;

/* Jest fails a test from which a rejection or an exception escapes. */
it.each(answers)(
	'what once broke $operation is put out, or told in words',
	async (once) =>
		await onStage(once.operation, async (stage) => {
			const [...bodies] = once.bodies;
			(await stage.front()).on(/v1|a\.mp3/, (_, response) => {
				const isLast = bodies.length === 1;
				if (isLast && once.type) response.setHeader('Content-Type', once.type);
				response.end(isLast ? bodies[0] : bodies.shift());
			});
			const result = await stage.run({ options: { timeout: 2 } });
			const { message = '-', description, name = '' } = result.error ?? {};
			for (const words of [message, description ?? '-']) {
				expect(words).not.toMatch(ODD);
				expect(words.length).toBeLessThan(20_000);
			}
			if (result.error) expect(name).toMatch(/^Node(?:Api|Operation)Error$/);
			await assertClean(stage, result);
		}),
);
