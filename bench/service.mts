import type { RequestRecord, Simulator } from '../simulator/simulator.mts';
import type { Access } from './client.mts';

export type Operation = 'speech' | 'video';

/** What the service made of a text. */
export interface Result {
	address: string;
	/** When it could first be had, in milliseconds since 1970. */
	readyAt: number;
}

/** The simulator as one contender sees it, with a token of its own. */
export class Account {
	readonly access: Access;
	readonly #simulator: Simulator;

	constructor(simulator: Simulator, token: string) {
		this.#simulator = simulator;
		const [voiceId] = simulator.voiceIds() as [string];
		const { baseUrl, webSocketUrl } = simulator;
		this.access = { baseUrl, webSocketUrl, token, voiceId };
	}

	/** Requests of this account's that have arrived, downloads and opening the socket included. */
	requests(operation: Operation): number {
		const area = operation === 'speech' ? /^\/(v1\/labs\/|ws$)/ : /^\/v1\/video\//;
		const calls = this.#count((request) => area.test(request.path) && this.#sent(request));
		return calls + this.downloads(operation);
	}

	downloads(operation: Operation): number {
		const results = [...this.#results(operation)];
		const mine = new Set(results.map(({ address }) => new URL(address).pathname));
		return this.#count(({ on, path }) => on === 'file' && mine.has(path));
	}

	/** How often tasks were looked up in a span of time, in milliseconds since 1970. */
	lookups(from: number, to: number): number {
		return this.#count(
			(request) =>
				request.method === 'GET' &&
				request.path.startsWith('/v1/labs/task/') &&
				request.time >= from &&
				request.time < to &&
				this.#sent(request),
		);
	}

	/** How many results there are so far. */
	made(operation: Operation): number {
		return [...this.#results(operation)].length;
	}

	/** Speech tasks accepted so far. */
	tasks(): number {
		return [...this.#simulator.tasks.values()].filter(({ token }) => token === this.access.token)
			.length;
	}

	/**
	 * What became of each text, in order. Throws when one was not made, or was made (and paid)
	 * more than once.
	 */
	results(operation: Operation, texts: string[]): Result[] {
		const found = Map.groupBy(this.#results(operation), ({ text }) => text);
		return texts.map((text) => {
			const results = found.get(text) ?? [];
			if (results.length !== 1) throw new Error(`"${text}" was made ${results.length} times`);
			return results[0]!;
		});
	}

	#count(counts: (request: RequestRecord) => boolean): number {
		return this.#simulator.requests.filter(counts).length;
	}

	#sent({ headers, query }: RequestRecord): boolean {
		const { token } = this.access;
		return headers.authorization === `Bearer ${token}` || query.token === token;
	}

	*#results(operation: Operation): Generator<Result & { text: string }> {
		const { token } = this.access;
		const { tasks, history } = this.#simulator;
		if (operation === 'speech') {
			for (const { token: owner, input: text, audioUrl, readyAt } of tasks.values()) {
				if (owner === token && audioUrl && readyAt) yield { text, address: audioUrl, readyAt };
			}
		} else {
			for (const { owner, prompt: text, file_url: address, created_at } of history) {
				if (owner === token) yield { text, address, readyAt: Date.parse(created_at) };
			}
		}
	}
}
