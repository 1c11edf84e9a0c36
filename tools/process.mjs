import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const SHOWN_LINES = 40;

/** An error whose message is meant for the user, so it is shown without a stack trace. */
export class SetupError extends Error {
	/** The output of the command that failed. */
	output = '';
}

/**
 * Returns the environment of this process with `extra`, but without the variables that describe to a script of npm its
 * own package. They would mislead an npm that the script starts.
 */
export function cleanEnvironment(extra = {}) {
	const own = /^npm_(package_|lifecycle_|config_local_prefix$|command$)/i;
	const kept = Object.entries(process.env).filter(([name]) => !own.test(name));
	return { ...Object.fromEntries(kept), ...extra };
}

/** Passes the signals that this process receives on to a child process, as long as that runs. */
function forwardSignals(child) {
	const forward = (signal) => child.kill(signal);
	for (const signal of SIGNALS) process.on(signal, forward);
	child.once('close', () => {
		for (const signal of SIGNALS) process.off(signal, forward);
	});
}

const codeOf = (code, signal) => code ?? 128 + (constants.signals[signal] ?? 0);

/** Runs a command that reads from and prints to this terminal. Resolves with its exit code. */
export async function runHere(command, args, options = {}) {
	const child = spawn(command, args, { stdio: 'inherit', ...options });
	forwardSignals(child);
	return codeOf(...(await once(child, 'close')));
}

/**
 * Runs a command without showing its output. Calls `onLine` with each line of the output. Throws a SetupError with the
 * last lines if the command fails.
 */
export async function runQuietly(command, args, { onLine = () => {}, ...options } = {}) {
	const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
	forwardSignals(child);
	const lines = [];
	for (const input of [child.stdout, child.stderr]) {
		createInterface({ input }).on('line', (line) => {
			lines.push(line);
			if (lines.length > 10 * SHOWN_LINES) lines.splice(0, 9 * SHOWN_LINES);
			onLine(line);
		});
	}
	const [code, signal] = await once(child, 'close');
	if (code === 0) return;
	if (SIGNALS.includes(signal)) process.exit(codeOf(code, signal));
	const shown = [command, ...args].join(' ');
	const ending = lines.slice(-SHOWN_LINES).join('\n');
	const error = new SetupError(`${shown} failed:\n\n${ending}`);
	error.output = lines.join('\n');
	throw error;
}
