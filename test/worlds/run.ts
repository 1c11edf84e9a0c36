import { exec } from 'node:child_process';

/** Resolves with what a script of this folder prints. */
export const run = async (command: string): Promise<string> =>
	await new Promise((resolve) => {
		const end = (_: unknown, output: string, errors: string) => resolve(output + errors);
		exec(`"${process.execPath}" ${command}`, { cwd: __dirname }, end);
	});
