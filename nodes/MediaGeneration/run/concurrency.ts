import { Queue } from '../../shared/async/queue';
import { ConcurrencyLimit } from '../../shared/pace/concurrencyLimit';
import type { Throttle } from '../../shared/pace/throttle';

/** How many slots a run starts with, if the concurrency is chosen automatically. */
const AUTOMATIC_START_SLOTS = 10;
/** The maximum number of slots, if the concurrency is chosen automatically. */
const AUTOMATIC_MAX_SLOTS = 100;
/** The longest wait before the limits are checked again, in ms. Other executions may change an account's limit. */
const RECHECK_MS = 60_000;

/** What takes one slot while it runs: an input item, or one part of a speech. */
interface Unit {
	api: { throttle: Throttle };
}
type UnitKind = 'item' | 'part';

/** Units of one kind that wait for a slot of the same account. */
interface UnitLane {
	account: AccountSlots;
	kind: UnitKind;
}

/** The slots that one account uses. */
class AccountSlots {
	usedSlots = 0;
	readonly lanes: Record<UnitKind, UnitLane> = {
		part: { account: this, kind: 'part' },
		item: { account: this, kind: 'item' },
	};

	constructor(readonly throttle: Throttle) {}
}

/**
 * Limits how many items of a run, or parts of long speeches, are processed at the same time: by `options.concurrency`,
 * and by the limit of each account. A unit that has to wait for its account does not hold up the units of other
 * accounts.
 */
export class ConcurrencyLimiter {
	/** The limit of the whole run; each account has a limit of its own in its throttle. */
	private readonly limit: ConcurrencyLimit;
	/** How many slots are in use. */
	private usedSlots = 0;
	private readonly accounts = new Map<Throttle, AccountSlots>();
	/** Parts go first, so that items that have begun end. Then comes the account that uses the fewest slots. */
	private readonly queue = new Queue<UnitLane>(
		({ account }) => this.delayMsOf(account),
		({ account }) => this.useSlots(account, 1),
		({ account, kind }) => (kind === 'part' ? -1 : account.usedSlots),
	);

	/** `concurrency`: the number of slots. 0 chooses the number automatically. */
	constructor(concurrency: number) {
		const initialLimit = concurrency || AUTOMATIC_START_SLOTS;
		this.limit = new ConcurrencyLimit(initialLimit, concurrency || AUTOMATIC_MAX_SLOTS);
	}

	/**
	 * Call this when an item or a part has proved healthy: if too many were in flight, it would most likely have failed
	 * by now.
	 */
	onHealthy(): void {
		this.limit.onHealthy();
		this.queue.notify();
	}

	/**
	 * Calls `run` for each of `units`, as many at the same time as the limits allow. `run` resolves with true if it has
	 * succeeded, and must not reject.
	 *
	 * An item that consists of parts calls this from its own `run`, while it has a slot, with all its parts as `units`
	 * and with 'part' as `kind`.
	 */
	async forEach<One extends Unit>(
		units: One[],
		run: (unit: One, index: number) => Promise<boolean>,
		kind: UnitKind = 'item',
	): Promise<void> {
		let remaining = units.length;
		const unitPromises = units.map(async (unit, index) => {
			const account = this.accountOf(unit);
			// No signal takes units from the queue when the run stops: `run` ends at once then.
			await this.queue.enter(undefined, account.lanes[kind]);
			if (await run(unit, index)) this.onHealthy();
			remaining--;
			// The last part that ends leaves its slot to the item, which still has to join the parts.
			if (kind === 'item' || remaining > 0) this.useSlots(account, -1);
		});
		// While the parts run, the item itself needs no slot.
		if (kind === 'part') this.useSlots(this.accountOf(units[0]!), -1);
		await Promise.all(unitPromises);
	}

	private accountOf({ api: { throttle } }: Unit): AccountSlots {
		const account = this.accounts.get(throttle) ?? new AccountSlots(throttle);
		this.accounts.set(throttle, account);
		return account;
	}

	/** Adds `count` to the slots that are in use; `count` is negative if slots become free. */
	private useSlots(account: AccountSlots, count: number): void {
		this.usedSlots += count;
		account.usedSlots += count;
		this.queue.notify();
	}

	/**
	 * Returns how long it takes until an account may start one more unit, or until the limits are checked again, in ms.
	 * An account that uses no slot may always start one, whatever its own limit is.
	 */
	private delayMsOf({ throttle, usedSlots }: AccountSlots): number {
		const accountDelayMs = usedSlots > 0 ? throttle.limit.delayMs(usedSlots) : 0;
		return Math.min(RECHECK_MS, Math.max(accountDelayMs, this.limit.delayMs(this.usedSlots)));
	}
}
