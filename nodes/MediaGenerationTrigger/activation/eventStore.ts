import { thisProcess } from '../../shared/account';

/**
 * How long n8n still knows the key of an emitted event, in ms. It knows it as long as it keeps the
 * execution, which it may delete at any time if the workflow does not save executions.
 */
export const KEY_LASTS_MS = 120_000;

/** By key: the memory of the node's latest trigger, from the moment one was closed. */
class LeftBehind extends Map<string, EventStore<{ at: number }>> {}

const leftBehind = () => thisProcess.shared(LeftBehind);

/**
 * A trigger's memory of what it reports. A closed trigger leaves it to the next one of the same node in
 * this process: n8n saves static data only along with an execution, so that may be older.
 */
export abstract class EventStore<Kept extends { at: number }> {
	/** What was not emitted, or not for certain, by name. */
	protected abstract readonly open: Map<string, { isEmitted: boolean }>;
	/** When the trigger was closed, in ms since 1970. */
	private leftAt: number | undefined;

	/** `key` identifies the node in this process. */
	constructor(private readonly key: string) {}

	/** Drops what was left under a key. */
	protected static drop(key: string): void {
		leftBehind().delete(key);
	}

	/** It was emitted, or is to start nothing. */
	abstract end(name: string): void;

	/** Hands everything to n8n, which saves it along with the next execution that is started. */
	abstract save(): void;

	/** What has ended is to be emitted after all; `isQueued`: it waits for that already. */
	protected abstract reopen(name: string, isQueued: boolean): void;

	/** What is to outlive this trigger, if anything; `at` is in ms since 1970. */
	protected abstract kept(at: number): Kept | undefined;

	/** It is about to be emitted; or, with false, n8n could not start its execution. */
	emitted(name: string, isEmitted = true): void {
		const entry = this.open.get(name);
		// n8n may say so after minutes: then it is the next trigger's to emit.
		const heir = leftBehind().get(this.key) ?? this;
		if (entry) entry.isEmitted = isEmitted;
		else if (!isEmitted) heir.reopen(name, heir === this);
	}

	/** Call this when the trigger is closed; n8n runs on, so what was emitted is done. */
	leave(): void {
		for (const [name, { isEmitted }] of [...this.open]) if (isEmitted) this.end(name);
		this.leftAt = Date.now();
		leftBehind().set(this.key, this);
	}

	/** Takes what was left, or what n8n has stored if that is newer. */
	protected take(stored?: Kept): Kept | undefined {
		const before = leftBehind().get(this.key);
		// From now on, what the one before can't emit after all comes here.
		if (before) leftBehind().set(this.key, this);
		const left = before?.leftAt && (before.kept(before.leftAt) as Kept | undefined);
		if (!left || !stored) return left || stored;
		// What is stored with a time to come was stored before the clock was set back.
		return left.at >= stored.at || stored.at > Date.now() ? left : stored;
	}
}
