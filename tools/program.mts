/* Starts programs that run at the same time as this process, and end with it. */
import { createInterface } from 'node:readline';
import { execa } from 'execa';

interface ProgramOptions {
	cwd: string;
	/** All environment variables of the program. It does not get those of this process. */
	env: NodeJS.ProcessEnv;
	/** The text that the program reads from its standard input. */
	input?: string;
	/** The path of a file to which the output of the program is appended. */
	log?: string;
	/** The user and the group that run the program; by default those of this process. */
	account?: { uid: number; gid: number };
	/** The signal that `kill` sends; by default SIGTERM. */
	killSignal?: NodeJS.Signals;
}

export type Program = ReturnType<typeof start>;

/** How long a program may take to end before it is killed, in ms. */
const GRACE_MS = 15_000;

/** Starts a program. The returned promise resolves once the program has ended, and never rejects. */
export function start(
	command: string,
	args: string[],
	{ log, input = '', account, ...options }: ProgramOptions,
) {
	const output =
		log === undefined ? ('pipe' as const) : (['pipe', { file: log, append: true }] as const);
	const program = execa(command, args, {
		...options,
		...account,
		input,
		stdout: output,
		stderr: output,
		all: true,
		extendEnv: false,
		buffer: false,
		reject: false,
		forceKillAfterDelay: GRACE_MS,
	});
	// A program has to wait if nobody reads its output.
	program.all.resume();
	return program;
}

/** Resolves with true once a program has printed a line with this text, or with false if it ends before. */
export async function waitForOutput(
	program: Program,
	text: string,
	onLine: (line: string) => void = () => {},
): Promise<boolean> {
	return await new Promise((resolve) => {
		createInterface({ input: program.all }).on('line', (line) => {
			onLine(line);
			if (line.includes(text)) resolve(true);
		});
		void program.then(() => resolve(false));
	});
}
