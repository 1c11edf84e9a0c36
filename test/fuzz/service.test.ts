import { removeEngineFolder } from '../../demo/engine.mts';
import { assertClean } from '../faults/check.mts';
import { onStage, OPERATIONS } from '../faults/stage.mts';
import { Hostile } from '../soak/hostile.mts';
import { runSeed, wrongWith } from '../soak/run.mts';
import { runs, seed } from './check';
import { answers } from './corpus';

afterAll(() => removeEngineFolder());

/** How late a run may end beside the others, on a machine that is busy with more. */
const LATE_MS = 60_000;
/** They wait far more than they compute. */
const AT_ONCE = 24;

/* Jest fails a test from which a rejection or an exception escapes. */
describe('a service that answers anything', () => {
	it('gets output or words from every operation, in time, and is paid once', async () => {
		const from = seed();
		const found: string[] = [];
		const hostile = await Hostile.start((what) => found.push(what));
		const amount = OPERATIONS.length * runs(6);
		let next = 0;
		const lane = async () => {
			while (next < amount) {
				const number = next++;
				const wished = OPERATIONS[number % OPERATIONS.length]!;
				const { wrong } = await runSeed(hostile, from + number, { lateMs: LATE_MS, wished });
				found.push(...wrong);
			}
		};
		await Promise.all(Array.from({ length: AT_ONCE }, lane));
		await hostile.close();
		expect({ seed: from, found }).toEqual({ seed: from, found: [] });
	});

	it.each(answers)(
		'breaks no longer what it once broke: $operation',
		async (once) =>
			await onStage(once.operation, async (stage) => {
				const [...bodies] = once.bodies;
				(await stage.front()).on(/v1|a\.mp3/, (_, response) => {
					const isLast = bodies.length === 1;
					if (isLast && once.type) response.setHeader('Content-Type', once.type);
					response.end(isLast ? bodies[0] : bodies.shift());
				});
				const result = await stage.run({ options: { timeout: 2 } });
				expect(wrongWith(result, stage.messages, stage.sim.token)).toEqual([]);
				await assertClean(stage, result);
			}),
	);
});
