import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { residentMemory } from '../../tools/n8n/instance.mts';
import type { Account, Operation } from '../service.mts';
import type { Contender } from './contender.mts';
import type { Done, Task } from './plainClientProcess.mts';

/** A process of Node with `fetch` and a WebSocket, without n8n: what can be had at best. */
export class PlainClient implements Contender {
	readonly name = 'plain client, no n8n';
	readonly process = { memory: () => residentMemory(this.#child) };
	readonly #account: Account;
	readonly #child: ChildProcess;
	readonly #folder = temporaryFolder('client');
	readonly #files: Record<Operation, string[]> = { speech: [], video: [] };
	readonly #waiting = new Map<number, (files: string[]) => void>();
	#tasks = 0;

	constructor(account: Account) {
		this.#account = account;
		this.#child = fork(join(import.meta.dirname, 'plainClientProcess.mts'));
		this.#child.on('message', ({ number, files }: Done) => this.#waiting.get(number)?.(files));
		this.#child.on('exit', (code) => {
			if (code) throw new Error(`The plain client ended with ${code}`);
		});
	}

	async make(operation: Operation, texts: string[]): Promise<number> {
		const number = ++this.#tasks;
		const { access } = this.#account;
		const task: Task = { number, operation, texts, access, folder: this.#folder.path };
		const done = new Promise<string[]>((resolve) => void this.#waiting.set(number, resolve));
		this.#child.send(task);
		const files = await done;
		const ended = Date.now();
		this.#files[operation].push(...files);
		return ended;
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

	async close(): Promise<void> {
		this.#child.disconnect();
		await once(this.#child, 'exit');
		this.#folder.remove();
	}
}
