/** How long an unused account is kept, in ms: a lost video may still appear within the hour. */
const KEPT_MS = 3_600_000;

/** Shared objects, each found by its class. */
class Registry {
	private readonly held = new Map<object, object>();

	/** The one object of this class, made from `args` on first use. */
	shared<T extends object, Args extends unknown[]>(
		Class: new (...args: Args) => T,
		...args: Args
	): T {
		if (!this.held.has(Class)) this.held.set(Class, new Class(...args));
		return this.held.get(Class) as T;
	}

	/** The next caller of `shared` gets a new one. */
	drop(Class: object): void {
		this.held.delete(Class);
	}
}

/**
 * Everything that this process shares for one account: its socket (Connection), its pace (Pace), who
 * made what (SentRequests, SpeechRequests), and the looks into its history (HistoryLooks).
 */
class Account extends Registry {
	users = 0;
	/** In ms since 1970. */
	lastUsed = 0;

	/** Counts one more user until the returned function is called. */
	use(): () => void {
		this.users++;
		return () => {
			this.users--;
			this.lastUsed = Date.now();
		};
	}
}

/**
 * What belongs to no account: what a trigger leaves to its next activation (LeftBehind), and a
 * model's calls where n8n keeps nothing (ModelCalls).
 */
export const thisProcess = new Registry();

const accounts = new Map<string, Account>();

/** The account of a credential, in this process. */
export function accountOf({ accountKey: key }: { accountKey: string }): Account {
	const now = Date.now();
	let account = accounts.get(key);
	if (!account) {
		for (const [other, { users, lastUsed }] of accounts) {
			if (users === 0 && now - lastUsed > KEPT_MS) accounts.delete(other);
		}
		account = new Account();
		accounts.set(key, account);
	}
	account.lastUsed = now;
	return account;
}
