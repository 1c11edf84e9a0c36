import { thisProcess } from '../../shared/account';

/**
 * How long n8n still knows the key of an emitted event, in ms. It knows it as long as it keeps the
 * execution, which it may delete at any time if the workflow does not save executions.
 */
export const KEY_LASTS_MS = 120_000;

/** By key: what the node's latest trigger has left when it was closed. */
class LeftBehind extends Map<string, { at: number }> {}

/**
 * A trigger's memory of what it reports. A closed trigger leaves it to the next one of the same node in
 * this process: n8n saves static data only along with an execution, so that may be older.
 */
export abstract class EventStore<Kept extends { at: number }> {
	/** `key` identifies the node in this process. */
	constructor(private readonly key: string) {}

	/** Drops what was left under a key. */
	protected static drop(key: string): void {
		thisProcess.shared(LeftBehind).delete(key);
	}

	/** It is about to be emitted; or, with false, n8n could not start its execution. */
	abstract markEmitted(name: string, isEmitted: boolean): void;

	/** It was emitted, or is to start nothing. */
	abstract markOver(name: string): void;

	/** Hands everything to n8n, which saves it along with the next execution that is started. */
	abstract save(): void;

	/** What was emitted, and is not known to be over. */
	protected abstract emitted(): string[];

	/** What is to outlive this trigger, if anything. */
	protected abstract kept(): Kept | undefined;

	/** Call this when the trigger is closed; n8n runs on, so what was emitted is done. */
	leaveBehind(): void {
		for (const name of this.emitted()) this.markOver(name);
		const kept = this.kept();
		if (kept) thisProcess.shared(LeftBehind).set(this.key, kept);
	}

	/** Takes what was left, or what n8n has stored if that is newer. */
	protected take(stored?: Kept): Kept | undefined {
		const left = thisProcess.shared(LeftBehind).get(this.key) as Kept | undefined;
		if (!left || !stored) return left ?? stored;
		// What is stored with a time to come was stored before the clock was set back.
		return left.at >= stored.at || stored.at > Date.now() ? left : stored;
	}
}
