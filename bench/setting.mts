import { startSimulator, type Simulator } from '../simulator/simulator.mts';
import type { Contender } from './contenders/contender.mts';
import { handBuilt } from './contenders/handBuilt.mts';
import { ours } from './contenders/ours.mts';
import { PlainClient } from './contenders/plainClient.mts';
import { vendor } from './contenders/vendor.mts';
import { startMiniMax } from './minimax.mts';
import { N8n } from './n8n.mts';
import { Account } from './service.mts';

/** A contender with its account at the service. */
export interface Entrant<C extends Contender = Contender> {
	contender: C;
	account: Account;
}

/** Publishes a contender's workflows in an n8n; their names begin with `id`. */
type Enter = (n8n: N8n, id: string, account: Account) => Promise<Contender>;

const CONTENDERS = {
	/** The node of this package: automatic, with the concurrency that the name says, without socket, without files. */
	ours: (n8n, id, account) => ours(n8n, id, account, {}),
	ours50: (n8n, id, account) => ours(n8n, id, account, { concurrency: 50 }),
	ours100: (n8n, id, account) => ours(n8n, id, account, { concurrency: 100 }),
	oursBlocked: (n8n, id, account) => ours(n8n, id, account, { pollInterval: 2 }, { blocked: true }),
	/** The same with another account, about which nothing is known yet. */
	oursRated: (n8n, id, account) => ours(n8n, id, account, { pollInterval: 2 }, { blocked: true }),
	oursAddresses: (n8n, id, account) =>
		ours(n8n, id, account, { concurrency: 100 }, { download: false }),
	handBuilt,
	vendor: async (n8n, id, account) => {
		const minimax = await startMiniMax(account.access);
		n8n.alsoClose(minimax.close);
		return await vendor(n8n, id, account, minimax);
	},
} satisfies Record<string, Enter>;

export type Name = keyof typeof CONTENDERS;

/** An n8n with some of the contenders. */
export interface Arena<N extends Name> {
	n8n: N8n;
	entrants: Record<N, Entrant>;
}

/** One for each account. */
const TOKENS = Array.from({ length: 20 }, (_, number) => `bench-token-${number}`);

/** What all measures share. */
export class Setting {
	readonly simulator: Simulator;
	readonly client: Entrant<PlainClient>;
	readonly #accounts = new Map<string, Account>();
	readonly #running = new Set<N8n>();

	private constructor(simulator: Simulator) {
		this.simulator = simulator;
		const account = this.account('client');
		this.client = { contender: new PlainClient(account), account };
	}

	static async start(): Promise<Setting> {
		return new Setting(await startSimulator({ otherTokens: [...TOKENS] }));
	}

	/** The account of a name, a new one for each. */
	account(name: string): Account {
		const found =
			this.#accounts.get(name) ?? new Account(this.simulator, TOKENS[this.#accounts.size]!);
		this.#accounts.set(name, found);
		return found;
	}

	/** Starts an n8n with the package in it, and publishes the contenders. */
	async arena<N extends Name>(...names: N[]): Promise<Arena<N>> {
		const n8n = await N8n.start();
		this.#running.add(n8n);
		const entrants = {} as Record<N, Entrant>;
		for (const name of names) entrants[name] = await this.enter(n8n, name);
		return { n8n, entrants };
	}

	/** Publishes a contender with an account of its own in an n8n. */
	async enter(n8n: N8n, name: Name, id: string = name): Promise<Entrant> {
		const account = this.account(id);
		return { contender: await CONTENDERS[name](n8n, id, account), account };
	}

	/** Ends an n8n before the end of all. */
	async leave({ n8n }: Pick<Arena<Name>, 'n8n'>): Promise<void> {
		this.#running.delete(n8n);
		await n8n.close();
	}

	async close(): Promise<void> {
		await Promise.all([...this.#running].map((n8n) => n8n.close()));
		await this.client.contender.close();
		await this.simulator.close();
	}
}
