import { run } from '../worlds/run';

/** Two limits of the rate; `npm run pace` measures all, on several processes, too. */
const LIMITS = '^(2 a second|6 a minute, Timeout 15 minutes)$';

test('beside one who knows the limit, the node is not much slower', async () => {
	const pace = await run(`../pace/main.mts --processes 1 --only "${LIMITS}"`);
	expect(pace).toMatch(/pace: 0 figures missed\s*$/);
	expect(pace.match(/ share /g)).toHaveLength(2);
}, 300_000);
