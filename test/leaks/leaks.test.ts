import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/* `npm run leaks` does the same for a thousand runs. */
test('two hundred runs, many failing or canceled, leave nothing behind', () => {
	const args = ['--expose-gc', join(__dirname, 'main.mts'), '--runs', '200'];
	const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
	expect({ status, stderr, stdout }).toMatchObject({ status: 0 });
}, 300_000);
