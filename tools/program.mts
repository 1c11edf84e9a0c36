/* Programs that run beside this process, and end with it. */
import { createInterface } from 'node:readline';
import { execa } from 'execa';

interface Setting {
	cwd: string;
	/** All of its variables. */
	env: NodeJS.ProcessEnv;
	/** Given to it as its input. */
	input?: string;
	/** The file to which all that it prints is added. */
	log?: string;
	/** As whom it is run. */
	account?: { uid: number; gid: number };
	/** What ends it: SIGTERM unless another is named. */
	killSignal?: NodeJS.Signals;
}

export type Program = ReturnType<typeof start>;

/** How long a program may take to end before it is killed. */
const GRACE_MS = 15_000;

/** Starts a program; what this returns resolves once it has ended, however it did. */
export function start(
	command: string,
	args: string[],
	{ log, input = '', account, ...options }: Setting,
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
	// A program whose output nobody reads would have to wait.
	program.all.resume();
	return program;
}

/** Resolves to true once a program prints a line with this text, to false when it has ended without. */
export async function prints(
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
