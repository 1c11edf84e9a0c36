import type { Simulator } from '../simulator/simulator.mts';

export type Operation = 'speech' | 'video';

/** The file that the service has generated from a text. */
export interface Result {
	address: string;
	/** When the file became available, in ms since 1970. */
	readyAt: number;
}

/** The simulator's account of one contender. It has its own token. */
export class Account {
	readonly baseUrl: string;
	readonly voiceId: string;
	readonly token: string;
	readonly #simulator: Simulator;

	constructor(simulator: Simulator, token: string) {
		this.#simulator = simulator;
		this.baseUrl = simulator.baseUrl;
		this.voiceId = simulator.voiceIds()[0]!;
		this.token = token;
	}

	/** Returns how often tasks were read between two times, in ms since 1970. */
	lookups(from: number, to: number): number {
		const authorization = `Bearer ${this.token}`;
		return this.#simulator.requests.filter(
			({ method, path, arrivedAt: time, headers }) =>
				method === 'GET' &&
				path.startsWith('/v1/labs/task/') &&
				time >= from &&
				time < to &&
				headers.authorization === authorization,
		).length;
	}

	/** Returns how many speech tasks were accepted so far. */
	tasks(): number {
		const { tasks } = this.#simulator;
		return [...tasks.values()].filter(({ token }) => token === this.token).length;
	}

	/** Returns how many results there are so far. */
	countResults(operation: Operation): number {
		return [...this.#results(operation)].length;
	}

	/**
	 * Yields the result of each text, in order. Throws if a text has no result, or several, which were all charged.
	 */
	results(operation: Operation, texts: string[]): Result[] {
		const found = Map.groupBy(this.#results(operation), ({ text }) => text);
		return texts.map((text) => {
			const results = found.get(text) ?? [];
			if (results.length !== 1) throw new Error(`"${text}" was made ${results.length} times`);
			return results[0]!;
		});
	}

	*#results(operation: Operation): Generator<Result & { text: string }> {
		const { tasks, history } = this.#simulator;
		if (operation === 'speech') {
			for (const { token, input: text, audioUrl, readyAt } of tasks.values()) {
				if (token === this.token && audioUrl && readyAt) yield { text, address: audioUrl, readyAt };
			}
		} else {
			for (const { owner, prompt: text, file_url: address, created_at } of history) {
				if (owner === this.token) yield { text, address, readyAt: Date.parse(created_at) };
			}
		}
	}
}
