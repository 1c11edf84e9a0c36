import { run } from '../worlds/run';

test('beside one who knows the limit, the node is not much slower', async () => {
	expect(await run('../pace/main.mts --processes 1')).toMatch(/pace: 0 figures missed\s*$/);
}, 300_000);
