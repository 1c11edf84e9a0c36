/** The minimum time for which the state of an unused account is kept, in ms. */
const IDLE_TTL_MS = 3_600_000;

/** Holds one shared instance of each class. */
class InstanceContainer {
	private readonly instances = new Map<object, object>();

	/** Returns the one instance of `Class`, which the first call creates. */
	get<T extends object>(Class: new () => T): T {
		if (!this.instances.has(Class)) this.instances.set(Class, new Class());
		return this.instances.get(Class) as T;
	}
}

/** The objects that this process shares for one account, such as its WebSocket and its throttle. */
class Account extends InstanceContainer {
	/** How many signals of `retain` have not aborted yet. */
	refCount = 0;
	/** When the account was last looked up or released, in ms since 1970. */
	lastUsedAt = 0;

	/** Keeps the account's state until `signal` aborts. */
	retain(signal: AbortSignal): void {
		this.refCount++;
		const release = () => {
			this.refCount--;
			this.lastUsedAt = Date.now();
		};
		signal.addEventListener('abort', release, { once: true });
	}
}

/** Objects that this process shares across all accounts, such as the memory budget. */
export const processContainer = new InstanceContainer();

const accounts = new Map<string, Account>();

/** Returns the state that this process shares for the account of a credential. The first call creates it. */
export function accountOf({ accountKey: key }: { accountKey: string }): Account {
	const now = Date.now();
	let account = accounts.get(key);
	if (!account) {
		for (const [otherKey, { refCount, lastUsedAt }] of accounts) {
			if (refCount === 0 && now - lastUsedAt > IDLE_TTL_MS) accounts.delete(otherKey);
		}
		account = new Account();
		accounts.set(key, account);
	}
	account.lastUsedAt = now;
	return account;
}

/** Returns the states of all accounts that this process knows. */
export const allAccounts = (): Array<Pick<Account, 'get'>> => [...accounts.values()];
