import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment } from '../process.mjs';
import { waitForOutput, start, type Program } from '../program.mts';

const n8nCommand = join(import.meta.dirname, 'node_modules/n8n/bin/n8n');
const READY = 'Editor is now accessible via';

/** A complete n8n, which writes everything into its own folder. */
export class Instance {
	readonly baseUrl: string;
	/** The only folder into which workflows may write files. Workflows call it `.n8n-files`. */
	readonly filesFolder: string;
	readonly folder: string;
	readonly logFile: string;
	private readonly environment: NodeJS.ProcessEnv;
	private readonly programs = new Set<Program>();

	/** `extra` are environment variables in addition to those of `environmentFor`. */
	constructor(
		folder: string,
		ports: { editor: number; broker: number },
		extra: NodeJS.ProcessEnv = {},
	) {
		this.folder = folder;
		this.filesFolder = join(folder, '.n8n-files');
		this.logFile = join(folder, 'n8n.log');
		this.baseUrl = `http://127.0.0.1:${ports.editor}`;
		this.environment = { ...environmentFor(folder, this.filesFolder, ports), ...extra };
		mkdirSync(this.filesFolder, { recursive: true });
	}

	/** Runs a command of n8n to its end. Throws an Error if it fails. */
	async runCommand(...args: string[]): Promise<void> {
		const { exitCode } = await this.run(args);
		if (exitCode !== 0)
			throw new Error(`n8n ${args[0]} ended with ${exitCode}; see ${this.logFile}`);
	}

	/** Starts the server. Resolves once the editor can be used; throws an Error if n8n ends before. */
	async start(): Promise<void> {
		await this.serve(['start'], READY);
	}

	/**
	 * Starts a command of n8n that runs until it is stopped. Resolves once it has printed the text `ready`; throws an
	 * Error if it ends before.
	 */
	async serve(args: string[], ready: string): Promise<void> {
		const program = this.run(args);
		if (await waitForOutput(program, ready)) return;
		const { exitCode } = await program;
		throw new Error(`n8n ended with ${exitCode} while starting; see ${this.logFile}`);
	}

	/** Ends all running commands. Resolves once they have ended; one that takes too long is killed. */
	async stop(): Promise<void> {
		const stopped = this.whenStopped();
		this.kill('SIGTERM');
		await stopped;
	}

	/** Kills all running commands (kill -9), as a power cut does. `start` then goes on with what n8n has saved. */
	async crash(): Promise<void> {
		const stopped = this.whenStopped();
		this.kill('SIGKILL');
		await stopped;
	}

	/** Halts all running commands until `wake` is called, like a computer that sleeps. */
	sleep(): void {
		this.kill('SIGSTOP');
	}

	wake(): void {
		this.kill('SIGCONT');
	}

	/** Returns the resident memory of the server's process, in bytes. Works on Linux only, while the server runs. */
	residentMemoryBytes(): number {
		const status = readFileSync(`/proc/${[...this.programs][0]!.pid}/status`, 'utf8');
		return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
	}

	/** Resolves once all running commands have ended. */
	async whenStopped(): Promise<void> {
		await Promise.all(this.programs);
	}

	private run(args: string[]): Program {
		const runOptions = { cwd: this.folder, env: this.environment, log: this.logFile };
		const program = start(process.execPath, [n8nCommand, ...args], runOptions);
		this.programs.add(program);
		void program.finally(() => this.programs.delete(program));
		return program;
	}

	private kill(signal: NodeJS.Signals): void {
		for (const program of this.programs) program.kill(signal);
	}
}

function environmentFor(
	folder: string,
	files: string,
	ports: { editor: number; broker: number },
): NodeJS.ProcessEnv {
	const n8nVariablePattern = /^(N8N_|DB_|EXECUTIONS_|QUEUE_|WEBHOOK_URL$)/;
	const own = Object.entries(cleanEnvironment()).filter(([name]) => !n8nVariablePattern.test(name));
	return {
		...Object.fromEntries(own),
		N8N_USER_FOLDER: folder,
		N8N_LISTEN_ADDRESS: '127.0.0.1',
		N8N_PORT: String(ports.editor),
		N8N_RUNNERS_BROKER_PORT: String(ports.broker),
		N8N_RESTRICT_FILE_ACCESS_TO: files,
		// These variables keep n8n from sending requests to its makers. N8N_SECURE_COOKIE lets cookies work without
		// HTTPS.
		N8N_DIAGNOSTICS_ENABLED: 'false',
		N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
		N8N_TEMPLATES_ENABLED: 'false',
		N8N_PERSONALIZATION_ENABLED: 'false',
		N8N_SECURE_COOKIE: 'false',
		NO_COLOR: '1',
	};
}
