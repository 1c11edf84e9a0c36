import { thisProcess } from '../../shared/account';

/**
 * How long n8n still knows the key of an emitted event, in ms. It knows it as long as it keeps the
 * execution, which it may delete at any time if the workflow does not save executions.
 */
export const KEY_LASTS_MS = 120_000;

/** What the trigger keeps from one activation to the next; `at` is in ms since 1970. */
interface Kept {
	at: number;
}

/** What closed triggers have left, by their keys. */
class LeftBehind {
	readonly kept = new Map<string, Kept>();
	/** Names of events that n8n refused after their trigger was closed. */
	readonly refused = new Map<string, Set<string>>();
}

/**
 * Hands on what a closed trigger leaves to the next one of the same node in this process: n8n saves
 * static data only along with an execution, so it may be older. `key` identifies the node.
 */
export class Handover<T extends Kept> {
	private hasLeft = false;

	constructor(private readonly key: string) {}

	/** Takes what was left, or what n8n has stored if that is newer. */
	take(stored?: T): T | undefined {
		const { kept } = leftBehind();
		const inProcess = kept.get(this.key) as T | undefined;
		kept.delete(this.key);
		if (!inProcess || !stored) return inProcess ?? stored;
		// What is stored with a time to come was stored before the clock was set back.
		const isNewer = inProcess.at >= stored.at || stored.at > Date.now();
		return isNewer ? inProcess : stored;
	}

	/** Call this when the trigger is closed; without `kept` nothing is left. */
	leave(kept?: T): void {
		this.hasLeft = true;
		if (kept) leftBehind().kept.set(this.key, kept);
	}

	/** n8n could not start the execution of something that may have counted as emitted when it was closed. */
	refuse(name: string): void {
		if (!this.hasLeft) return;
		const { refused } = leftBehind();
		refused.set(this.key, (refused.get(this.key) ?? new Set()).add(name));
	}

	/** Takes what was refused since the last time. */
	takeRefused(): string[] {
		const { refused } = leftBehind();
		const names = [...(refused.get(this.key) ?? [])];
		refused.delete(this.key);
		return names;
	}
}

const leftBehind = () => thisProcess.shared(LeftBehind);
