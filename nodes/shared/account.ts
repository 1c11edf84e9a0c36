/** How long an unused account is kept, in ms: a lost video may still appear within the hour. */
const IDLE_TTL_MS = 3_600_000;

/** Shared objects, each found by its class. */
class ServiceContainer {
	private readonly instances = new Map<object, object>();

	/** The one object of this class, made from `args` on first use. */
	get<T extends object, Args extends unknown[]>(Class: new (...args: Args) => T, ...args: Args): T {
		if (!this.instances.has(Class)) this.instances.set(Class, new Class(...args));
		return this.instances.get(Class) as T;
	}

	/** The next caller of `get` gets a new one. */
	evict(Class: object): void {
		this.instances.delete(Class);
	}
}

/**
 * Everything that this process shares for one account: its socket (AccountSocket), its throttle (Throttle), who
 * made what (RequestLedger), and the looks into its history (HistoryLooks).
 */
class Account extends ServiceContainer {
	refCount = 0;
	/** In ms since 1970. */
	lastUsed = 0;

	/** Counts one more user until the returned function is called. */
	retain(): () => void {
		this.refCount++;
		return () => {
			this.refCount--;
			this.lastUsed = Date.now();
		};
	}
}

/**
 * What belongs to no account: what a trigger leaves to its next activation (LeftBehind), and a
 * model's calls where n8n keeps nothing (ModelCalls).
 */
export const processContainer = new ServiceContainer();

const accounts = new Map<string, Account>();

/** The account of a credential, in this process. */
export function accountOf({ accountKey: key }: { accountKey: string }): Account {
	const now = Date.now();
	let account = accounts.get(key);
	if (!account) {
		for (const [other, { refCount, lastUsed }] of accounts) {
			if (refCount === 0 && now - lastUsed > IDLE_TTL_MS) accounts.delete(other);
		}
		account = new Account();
		accounts.set(key, account);
	}
	account.lastUsed = now;
	return account;
}
