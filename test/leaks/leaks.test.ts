import { execFile } from 'node:child_process';
import { join } from 'node:path';

/* `npm run leaks` does the same for a thousand runs. */
test('two hundred runs, many failing or canceled, leave nothing behind', async () => {
	const main = join(__dirname, 'main.mts');
	const args = ['--expose-gc', main, '--runs', '200'];
	const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
		execFile(process.execPath, args, (error, stdout, stderr) => {
			resolve({ code: error?.code ?? 0, output: stdout + stderr });
		});
	});
	expect(output).toMatch(/"left":\[\],"warnings":\[\],"leaks":0/);
	expect({ code, output }).toEqual({ code: 0, output });
}, 300_000);
