import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onExit } from '../cleanup.mts';
import { guard } from '../guarded.mts';
import { cleanEnvironment } from '../process.mjs';

const n8nCommand = join(import.meta.dirname, 'node_modules/n8n/bin/n8n');
const READY = 'Editor is now accessible via';
const GRACE_MS = 15_000;

/** Memory of a child's process, in bytes (Linux). */
export function residentMemory({ pid }: ChildProcess): number {
	const status = readFileSync(`/proc/${pid}/status`, 'utf8');
	return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

/** The complete n8n with a folder of its own for everything it writes. */
export class Instance {
	readonly baseUrl: string;
	/** Where workflows may write files, and `.n8n-files/…` points to. */
	readonly files: string;
	readonly folder: string;
	readonly logFile: string;
	private readonly environment: NodeJS.ProcessEnv;
	private readonly children = new Set<ChildProcess>();

	/** `extra` are environment variables beyond those that every instance here has. */
	constructor(
		folder: string,
		ports: { editor: number; broker: number },
		extra: NodeJS.ProcessEnv = {},
	) {
		this.folder = folder;
		this.files = join(folder, '.n8n-files');
		this.logFile = join(folder, 'n8n.log');
		this.baseUrl = `http://127.0.0.1:${ports.editor}`;
		this.environment = { ...environmentFor(folder, this.files, ports), ...extra };
		mkdirSync(this.files, { recursive: true });
		onExit(() => this.kill('SIGKILL'));
	}

	/** Runs one of n8n's commands to its end. */
	async command(...args: string[]): Promise<void> {
		const { child, log } = this.spawn(args);
		child.stdout.pipe(log, { end: false });
		const code = await this.ended(child, log);
		if (code !== 0) throw new Error(`n8n ${args[0]} ended with ${code}; see ${this.logFile}`);
	}

	/**
	 * Starts the server, with environment variables for this time if there are `extra`; resolves once
	 * the editor can be used.
	 */
	async start(extra: NodeJS.ProcessEnv = {}): Promise<void> {
		await this.serve(['start'], READY, extra);
	}

	/** Runs one of n8n's commands that serves; resolves once it has printed `ready`. */
	async serve(args: string[], ready: string, extra: NodeJS.ProcessEnv = {}): Promise<void> {
		const { child, log } = this.spawn(args, extra);
		child.stdout.pipe(log, { end: false });
		const ended = this.ended(child, log);
		await new Promise<void>((resolve, reject) => {
			createInterface({ input: child.stdout }).on('line', (line) => {
				if (line.includes(ready)) resolve();
			});
			void ended.then((code) => {
				reject(new Error(`n8n ended with ${code} while starting; see ${this.logFile}`));
			});
		});
	}

	/** Ends whatever runs, and what that has started. */
	async stop(): Promise<void> {
		const ended = this.stopped();
		this.kill('SIGTERM');
		const impatient = setTimeout(() => this.kill('SIGKILL'), GRACE_MS);
		await ended;
		clearTimeout(impatient);
	}

	/** What a power cut does (kill -9); `start` goes on with what was saved. */
	async crash(): Promise<void> {
		const ended = this.stopped();
		this.kill('SIGKILL');
		await ended;
	}

	/** Halts whatever runs until `wake`, as a machine that is put to sleep does. */
	sleep(): void {
		this.kill('SIGSTOP');
	}

	wake(): void {
		this.kill('SIGCONT');
	}

	/** Memory of the server's process, in bytes (Linux). */
	memory(): number {
		return residentMemory([...this.children][0]!);
	}

	/** Processor time of the server's process since its start, in seconds (Linux). */
	processorSeconds(): number {
		const [child] = this.children;
		const stat = readFileSync(`/proc/${child?.pid}/stat`, 'utf8');
		// After the command's name in brackets: utime and stime, in hundredths of a second.
		const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
		return (Number(fields[11]) + Number(fields[12])) / 100;
	}

	/** Resolves when nothing runs any more. */
	async stopped(): Promise<void> {
		await Promise.all([...this.children].map((child) => once(child, 'close')));
	}

	private spawn(args: string[], extra: NodeJS.ProcessEnv = {}) {
		const log = createWriteStream(this.logFile, { flags: 'a' });
		// A group of its own: Ctrl-C reaches n8n through stop() alone, and nothing is left behind.
		const child = spawn(process.execPath, [n8nCommand, ...args], {
			cwd: this.folder,
			env: { ...this.environment, ...extra },
			stdio: ['ignore', 'pipe', 'pipe'],
			detached: true,
		});
		child.stderr.pipe(log, { end: false });
		this.children.add(child);
		guard(child);
		return { child, log };
	}

	private async ended(child: ChildProcess, log: WriteStream): Promise<number | string | null> {
		return await new Promise((resolve, reject) => {
			child.once('error', reject);
			child.once('close', (code, signal) => {
				this.children.delete(child);
				log.end(() => resolve(code ?? signal));
			});
		});
	}

	private kill(signal: NodeJS.Signals): void {
		for (const { pid } of this.children) {
			if (pid === undefined) continue;
			try {
				process.kill(-pid, signal);
			} catch {
				// It has just ended by itself.
			}
		}
	}
}

function environmentFor(
	folder: string,
	files: string,
	ports: { editor: number; broker: number },
): NodeJS.ProcessEnv {
	const foreign = /^(N8N_|DB_|EXECUTIONS_|QUEUE_|WEBHOOK_URL$)/;
	const own = Object.entries(cleanEnvironment()).filter(([name]) => !foreign.test(name));
	return {
		...Object.fromEntries(own),
		N8N_USER_FOLDER: folder,
		N8N_LISTEN_ADDRESS: '127.0.0.1',
		N8N_PORT: String(ports.editor),
		N8N_RUNNERS_BROKER_PORT: String(ports.broker),
		N8N_RESTRICT_FILE_ACCESS_TO: files,
		// Nothing here may call home, and cookies must work without HTTPS.
		N8N_DIAGNOSTICS_ENABLED: 'false',
		N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
		N8N_TEMPLATES_ENABLED: 'false',
		N8N_PERSONALIZATION_ENABLED: 'false',
		N8N_SECURE_COOKIE: 'false',
		NO_COLOR: '1',
	};
}
