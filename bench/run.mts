import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import type { Operation, Result } from './service.mts';
import type { Entrant } from './setting.mts';

/** How one run of a contender went, in seconds. */
export interface Time {
	/** From the call to its end. */
	seconds: number;
	/** From the moment when the service had the last result ready to the end of the run. */
	late: number;
}

export interface Race {
	/** Of each run, in order. */
	times: Time[];
	/** Requests sent by all runs together. */
	requests: number;
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

/**
 * Has a contender make the texts of several runs, all at once, and checks that exactly the right
 * files came out; throws when not. Everything made before is forgotten.
 */
export async function race(
	entrant: Entrant,
	operation: Operation,
	...runs: string[][]
): Promise<Race> {
	const { contender } = entrant;
	const before = contender.requests(operation);
	const spans = await Promise.all(
		runs.map(async (run) => {
			const began = Date.now();
			return { began, ended: await contender.make(operation, run) };
		}),
	);
	const requests = contender.requests(operation) - before;
	const results = await check(entrant, operation, runs);
	const times = spans.map(({ began, ended }, index) => {
		const ready = Math.max(...results[index]!.map(({ readyAt }) => readyAt));
		return { seconds: (ended - began) / 1000, late: (ended - ready) / 1000 };
	});
	return { times, requests };
}

/**
 * What the service made for each run, once the contender's files are found to be the same; throws
 * when they are not. The contender's are deleted.
 */
export async function check(
	{ contender, account }: Entrant,
	operation: Operation,
	runs: string[][],
): Promise<Result[][]> {
	const { files, errors } = await contender.made(operation);
	if (errors.length > 0) throw new Error(`${contender.name}: ${errors.join('; ')}`);
	const results = runs.map((run) => account.results(operation, run));
	await compare(contender.name, files, results.flat());
	await contender.clear(operation);
	return results;
}

/** Throws unless the files are those of the results, byte for byte, each once. */
export async function compare(name: string, files: string[], results: Result[]): Promise<void> {
	if (files.length !== results.length) {
		throw new Error(`${name} made ${files.length} files of ${results.length}`);
	}
	const made = Promise.all(files.map((path) => hash(createReadStream(path))));
	const right = await Promise.all(results.map(({ address }) => hashOf(address)));
	right.sort();
	const wrong = (await made).sort().filter((value, index) => value !== right[index]).length;
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

/** Compiles what is compiled at first use, and opens what is opened then. */
export async function warmUp(entrants: readonly Entrant[], operations: Operation[]): Promise<void> {
	await Promise.all(
		entrants.flatMap((entrant) =>
			operations.map((operation) => race(entrant, operation, lines(2, 0.1))),
		),
	);
}
