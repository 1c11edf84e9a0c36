import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import type { Account, Operation, Result } from './account.mts';
import type { N8n, Published } from './n8n.mts';
import { workflowOf, type Lines, type Step } from './workflow.mts';

/** The times of one run of a contender, in seconds. */
export interface Time {
	/** From the call of the webhook to the end of the execution. */
	seconds: number;
	/** From the moment when the service had the last result to the end of the execution. */
	late: number;
}

/** One way to get from texts to files. It has a workflow for each operation, and its own account. */
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

	/** Publishes a workflow for each operation. */
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

	/** Generates a file from each text in one execution. Resolves with the time of its end, in ms since 1970. */
	async make(operation: Operation, texts: string[]): Promise<number> {
		return await this.n8n.run(this.#published[operation], texts);
	}

	/** Resolves with the paths of the files of all runs since the last `clear`, and why runs have failed. */
	async outputs(operation: Operation): Promise<{ files: string[]; errors: string[] }> {
		const executions = await this.n8n.executions(this.#published[operation]);
		return {
			files: executions.flatMap(({ files }) => files),
			errors: executions.flatMap(({ error }) => error ?? []),
		};
	}

	/** Deletes the executions and their files. */
	async clear(operation: Operation): Promise<void> {
		await this.n8n.forget(this.#published[operation]);
	}

	/**
	 * Runs several lists of texts at the same time, after a `clear`. Throws unless exactly the right files come out.
	 */
	async race(operation: Operation, ...runs: string[][]): Promise<Time[]> {
		const spans = await Promise.all(
			runs.map(async (run) => {
				const began = Date.now();
				return { began, ended: await this.make(operation, run) };
			}),
		);
		const { files, errors } = await this.outputs(operation);
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

/** Returns a unique text with a scenario for the simulator. All texts have the same length. */
export function line(words: string): string {
	return `Line ${String(++written).padStart(6, '0')} ${words}`;
}

/** Returns `count` texts. The service takes `seconds` for each. */
export function lines(count: number, seconds: number): string[] {
	return Array.from({ length: count }, () => line(`[sim:slow=${seconds}]`));
}

/** Runs each workflow once, so that code is compiled and connections are open before anything is measured. */
export async function warmUp(contenders: readonly Contender[]): Promise<void> {
	await Promise.all(
		contenders.flatMap((contender) => [
			contender.race('speech', lines(2, 0.1)),
			contender.race('video', lines(2, 0.1)),
		]),
	);
}

/** Throws unless the files are identical to those of the results, each once. */
export async function compare(name: string, files: string[], results: Result[]): Promise<void> {
	if (files.length !== results.length) {
		throw new Error(`${name} made ${files.length} files of ${results.length}`);
	}
	const hashes = await Promise.all(files.map((path) => hash(createReadStream(path))));
	const expectedHashes = await Promise.all(results.map(({ address }) => hashOf(address)));
	expectedHashes.sort();
	const wrong = hashes.sort().filter((value, index) => value !== expectedHashes[index]).length;
	if (wrong > 0) throw new Error(`${name} made ${wrong} files that are not the service's`);
}

/** Resolves with the hash of the file at a URL. It uses `get`, because `fetch` takes three times as long. */
async function hashOf(address: string): Promise<string> {
	const [response] = (await once(get(address), 'response')) as [IncomingMessage];
	return await hash(response);
}

async function hash(bytes: AsyncIterable<Uint8Array>): Promise<string> {
	const sum = createHash('sha256');
	for await (const part of bytes) sum.update(part);
	return sum.digest('hex');
}
