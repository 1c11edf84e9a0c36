import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('guard.mjs', import.meta.url));

/**
 * Nothing of a child that leads a group of its own (`detached`) outlives this process, even when that
 * is killed.
 */
export function guard(child: ChildProcess): void {
	const { pid } = child;
	if (pid === undefined) return;
	const stdio = ['pipe', 'ignore', 'ignore'] as ['pipe', 'ignore', 'ignore'];
	const watcher = spawn(process.execPath, [program, String(pid)], { stdio, detached: true });
	child.once('close', () => watcher.kill('SIGKILL'));
	watcher.unref();
}
