import { thisProcess } from '../../shared/account';

/**
 * How long n8n still knows the key of an emitted event, in ms. It knows it as long as it keeps the
 * execution, which it may delete at any time if the workflow does not save executions.
 */
export const KEY_LASTS_MS = 120_000;

/** What closed triggers have left, by their keys. */
class LeftBehind {
	/** `at` is in ms since 1970. */
	readonly kept = new Map<string, { at: number }>();
	/** Names of events that n8n refused after their trigger was closed. */
	readonly refused = new Map<string, Set<string>>();
}

const leftBehind = () => thisProcess.shared(LeftBehind);

/**
 * A trigger's memory of what it reports. A closed trigger leaves it to the next one of the same node in
 * this process: n8n saves static data only along with an execution, so that may be older.
 */
export abstract class EventStore<Kept extends { at: number }> {
	/** What was not emitted, or not for certain, by name. */
	protected abstract readonly open: Map<string, { isEmitted: boolean }>;
	private hasLeft = false;

	/** `key` identifies the node in this process. */
	constructor(private readonly key: string) {}

	/** Drops what was left under a key. */
	protected static drop(key: string): void {
		leftBehind().kept.delete(key);
	}

	/** It was emitted, or is to start nothing. */
	abstract end(name: string): void;

	/** Hands everything to n8n, which saves it along with the next execution that is started. */
	abstract save(): void;

	/** What is to outlive this trigger, if anything. */
	protected abstract kept(): Kept | undefined;

	/** It is about to be emitted; or, with false, n8n could not start its execution. */
	emitted(name: string, isEmitted = true): void {
		const entry = this.open.get(name);
		if (entry) entry.isEmitted = isEmitted;
		else if (!isEmitted && this.hasLeft) {
			const { refused } = leftBehind();
			refused.set(this.key, (refused.get(this.key) ?? new Set()).add(name));
		}
	}

	/** Call this when the trigger is closed; n8n runs on, so what was emitted is done. */
	leave(): void {
		for (const [name, { isEmitted }] of [...this.open]) if (isEmitted) this.end(name);
		this.hasLeft = true;
		const kept = this.kept();
		if (kept) leftBehind().kept.set(this.key, kept);
	}

	/** Takes what was left, or what n8n has stored if that is newer. */
	protected take(stored?: Kept): Kept | undefined {
		const { kept } = leftBehind();
		const inProcess = kept.get(this.key) as Kept | undefined;
		kept.delete(this.key);
		if (!inProcess || !stored) return inProcess ?? stored;
		// What is stored with a time to come was stored before the clock was set back.
		const isNewer = inProcess.at >= stored.at || stored.at > Date.now();
		return isNewer ? inProcess : stored;
	}

	/** Takes the names of what an earlier trigger could not emit after all: it is to be emitted. */
	protected takeRefused(): string[] {
		const { refused } = leftBehind();
		const names = [...(refused.get(this.key) ?? [])];
		refused.delete(this.key);
		return names;
	}
}
