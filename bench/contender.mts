import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import type { Account, Operation, Result } from './account.mts';
import type { N8n, Published } from './n8n.mts';
import { workflowOf, type Lines, type Step } from './workflow.mts';

/** How one run of a contender went, in seconds. */
export interface Time {
	/** From the call to its end. */
	seconds: number;
	/** From the moment when the service had the last result ready to the end of the run. */
	late: number;
}

/** One way of getting from texts to files: a workflow for each operation, with an account of its own. */
export class Contender {
	readonly name: string;
	readonly n8n: N8n;
	readonly account: Account;
	readonly #published: Record<Operation, Published>;

	private constructor(
		name: string,
		n8n: N8n,
		account: Account,
		published: Record<Operation, Published>,
	) {
		this.name = name;
		this.n8n = n8n;
		this.account = account;
		this.#published = published;
	}

	/** Publishes the steps of each operation in an n8n. */
	static async publish(
		name: string,
		n8n: N8n,
		account: Account,
		{ speech, video }: Record<Operation, Step[]>,
		speechLines?: Lines,
	): Promise<Contender> {
		const id = account.token;
		return new Contender(name, n8n, account, {
			speech: await n8n.publish(workflowOf(`${id}-speech`, speech, speechLines)),
			video: await n8n.publish(workflowOf(`${id}-video`, video)),
		});
	}

	/** Makes a file of each text in one execution; resolves, with the milliseconds since 1970, when it has ended. */
	async make(operation: Operation, texts: string[]): Promise<number> {
		return await this.n8n.run(this.#published[operation], texts);
	}

	/** The paths of the files of all runs since the last `clear`, and why runs failed. */
	async made(operation: Operation): Promise<{ files: string[]; errors: string[] }> {
		const executions = await this.n8n.executions(this.#published[operation]);
		return {
			files: executions.flatMap(({ files }) => files),
			errors: executions.flatMap(({ error }) => error ?? []),
		};
	}

	/** Deletes what was made. */
	async clear(operation: Operation): Promise<void> {
		await this.n8n.forget(this.#published[operation]);
	}

	/**
	 * Makes the texts of several runs, all at once, and checks that exactly the right files came out;
	 * throws when not. Everything made before is forgotten.
	 */
	async race(operation: Operation, ...runs: string[][]): Promise<Time[]> {
		const spans = await Promise.all(
			runs.map(async (run) => {
				const began = Date.now();
				return { began, ended: await this.make(operation, run) };
			}),
		);
		const { files, errors } = await this.made(operation);
		if (errors.length > 0) throw new Error(`${this.name}: ${errors.join('; ')}`);
		const results = runs.map((run) => this.account.results(operation, run));
		await compare(this.name, files, results.flat());
		await this.clear(operation);
		return spans.map(({ began, ended }, index) => {
			const ready = Math.max(...results[index]!.map(({ readyAt }) => readyAt));
			return { seconds: (ended - began) / 1000, late: (ended - ready) / 1000 };
		});
	}
}

let written = 0;

/** A unique text, as long as all others, with words for the simulator. */
export function line(words: string): string {
	return `Line ${String(++written).padStart(6, '0')} ${words}`;
}

/** `count` texts that take `seconds` each. */
export function lines(count: number, seconds: number): string[] {
	return Array.from({ length: count }, () => line(`[sim:slow=${seconds}]`));
}

/** Compiles what is compiled at first use, and opens what is opened then. */
export async function warmUp(contenders: readonly Contender[]): Promise<void> {
	await Promise.all(
		contenders.flatMap((contender) => [
			contender.race('speech', lines(2, 0.1)),
			contender.race('video', lines(2, 0.1)),
		]),
	);
}

/** Throws unless the files are those of the results, byte for byte, each once. */
export async function compare(name: string, files: string[], results: Result[]): Promise<void> {
	if (files.length !== results.length) {
		throw new Error(`${name} made ${files.length} files of ${results.length}`);
	}
	const made = await Promise.all(files.map((path) => hash(createReadStream(path))));
	const right = await Promise.all(results.map(({ address }) => hashOf(address)));
	right.sort();
	const wrong = made.sort().filter((value, index) => value !== right[index]).length;
	if (wrong > 0) throw new Error(`${name} made ${wrong} files that are not the service's`);
}

/** The hash of what an address serves; with `get`, since `fetch` takes three times as long. */
async function hashOf(address: string): Promise<string> {
	const [response] = (await once(get(address), 'response')) as [IncomingMessage];
	return await hash(response);
}

async function hash(bytes: AsyncIterable<Uint8Array>): Promise<string> {
	const sum = createHash('sha256');
	for await (const part of bytes) sum.update(part);
	return sum.digest('hex');
}
