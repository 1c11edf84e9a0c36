import { PAID_OPERATIONS } from '../../nodes/shared/contract';
import { EVENTS } from '../../nodes/shared/n8n/triggerEvents';
import { run } from './run';
import { KINDS } from './jobs.mts';
import { DRAWN, EVENTS as DRAWN_EVENTS } from './world.mts';

/* A sample: `npm run worlds` plays hundreds, and kills processes by the hundred. */

const allGood = expect.stringMatching(/^(lost .*\n)*worlds: [1-9]\d* played, 0 violations\s*$/);

/** In each of them, a promise was broken once. */
const SEEDS = '2194,2729,3298,3686,3794,1795680971122';

test('worlds with random misfortune keep the promises, and are the same each time', async () => {
	const [once, twice] = await Promise.all(
		[1, 2].map(async () => await run(`main.mts --seed ${SEEDS} --verbose`)),
	);
	expect(once).toMatch(/^seed 2194: [0-9a-f]{16}\n(?:.*\n){5}worlds: 6 played, 0 violations\s*$/);
	expect(twice).toBe(once);
});

test('a process may be killed at every effect, and retried', async () => {
	expect(await run('main.mts --kills --seed 4 --count 12 --within 4')).toEqual(allGood);
});

// Nothing else sees what becomes of an event where n8n is restarted or killed.
test.each(EVENTS)('a trigger on $value is drawn', ({ value }) => {
	expect(DRAWN_EVENTS.flatMap((events) => events.split(' '))).toContain(value);
});

const operations = PAID_OPERATIONS.map((row) => [`${row.resource}:${row.operation}`, row] as const);

test.each(operations)('%s is drawn, and the worlds know what it makes', (name, { kind }) => {
	expect(DRAWN).toContain(name);
	// Without a control byte, the node would take the file for text.
	expect(String(KINDS[kind].head)).toMatch(/[\0-\x08\x0e-\x1f]/);
});
