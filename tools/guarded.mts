import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

const program = join(import.meta.dirname, 'guard.mjs');

/** Makes sure that a child with a group of its own (`detached`) doesn't outlive this process, even killed. */
export function guard(child: ChildProcess): void {
	if (child.pid === undefined) return;
	const watcher = spawn(process.execPath, [program, String(child.pid)], {
		stdio: ['pipe', 'ignore', 'ignore'],
		detached: true,
	});
	child.once('close', () => watcher.kill('SIGKILL'));
	watcher.unref();
}
