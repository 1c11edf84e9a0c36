import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../tools/cleanup.mts';
import type { Account, Operation } from '../service.mts';
import type { Contender } from './contender.mts';
import type { Done, Task } from './plainClientProcess.mts';

/** A process of Node with `fetch` and a WebSocket, without n8n: what can be had at best. */
export class PlainClient implements Contender {
	readonly name = 'plain client, no n8n';
	readonly #account: Account;
	readonly #child: ChildProcess;
	readonly #folder = temporaryFolder('client');
	readonly #files: Record<Operation, string[]> = { speech: [], video: [] };
	readonly #waiting = new Map<number, (result: Done['result']) => void>();
	#tasks = 0;

	constructor(account: Account) {
		this.#account = account;
		this.#child = fork(join(import.meta.dirname, 'plainClientProcess.mts'));
		this.#child.on('message', ({ number, result }: Done) => this.#waiting.get(number)?.(result));
		this.#child.on('exit', (code) => {
			if (code) throw new Error(`The plain client ended with ${code}`);
		});
	}

	async make(operation: Operation, texts: string[]): Promise<number> {
		const { ended, result } = await this.#run(operation, texts);
		this.#files[operation].push(...(result as string[]));
		return ended;
	}

	/** Reads a video's stream to its end without making anything of it; how many bytes it had. */
	async drain(prompt: string): Promise<number> {
		return Number((await this.#run('drain', [prompt])).result);
	}

	async #run(what: Task['what'], texts: string[]): Promise<{ ended: number; result: unknown }> {
		const number = ++this.#tasks;
		const task: Task = {
			number,
			what,
			texts,
			access: this.#account.access,
			folder: this.#folder.path,
		};
		const done = new Promise<Done['result']>((resolve) => void this.#waiting.set(number, resolve));
		this.#child.send(task);
		const result = await done;
		return { ended: Date.now(), result };
	}

	async made(operation: Operation) {
		return { files: this.#files[operation], errors: [] };
	}

	async clear(operation: Operation): Promise<void> {
		for (const file of this.#files[operation].splice(0)) rmSync(file);
	}

	requests(operation: Operation): number {
		return this.#account.requests(operation);
	}

	memory(): number {
		const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
		return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
	}

	async close(): Promise<void> {
		this.#child.disconnect();
		await once(this.#child, 'exit');
		this.#folder.remove();
	}
}
