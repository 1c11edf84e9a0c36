import { run } from '../worlds/run';

/** One of each kind; `npm run pace` measures all limits, on several processes, too. */
const LIMITS =
	'^(2 a second|15 at once|60 a minute, speech, late|15 at once, charged, failing early)$';

test('beside one who knows the limit, the node is not much slower', async () => {
	const pace = await run(`../pace/main.mts --processes 1 --only "${LIMITS}"`);
	expect(pace).toMatch(/pace: 0 figures missed\s*$/);
	expect(pace.match(/ share /g)).toHaveLength(4);
}, 300_000);
