import { startSimulator, type Simulator } from '../simulator/simulator.mts';
import { Account } from './account.mts';
import { N8n } from './n8n.mts';

/** One for each account. */
const TOKENS = Array.from({ length: 20 }, (_, number) => `bench-token-${number}`);

/** What all measures share. */
export class Setting {
	readonly simulator: Simulator;
	#accounts = 0;
	readonly #running = new Set<N8n>();

	private constructor(simulator: Simulator) {
		this.simulator = simulator;
	}

	static async start(): Promise<Setting> {
		return new Setting(await startSimulator({ otherTokens: TOKENS }));
	}

	/** A new account, about which nothing is known yet. */
	account(): Account {
		return new Account(this.simulator, TOKENS[this.#accounts++]!);
	}

	/** Starts an n8n with the package in it. */
	async startN8n(): Promise<N8n> {
		const n8n = await N8n.start();
		this.#running.add(n8n);
		return n8n;
	}

	/** Ends an n8n before the end of all. */
	async leave(n8n: N8n): Promise<void> {
		this.#running.delete(n8n);
		await n8n.close();
	}

	async close(): Promise<void> {
		await Promise.all([...this.#running].map((n8n) => n8n.close()));
		await this.simulator.close();
	}
}
