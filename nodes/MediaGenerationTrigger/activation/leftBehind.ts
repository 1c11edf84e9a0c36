import { thisProcess } from '../../shared/account';

/**
 * How long n8n still knows the key of an emitted event, in ms. It knows it as long as it keeps the
 * execution, which it may delete at any time if the workflow does not save executions.
 */
export const KEY_LASTS_MS = 120_000;

/** What the trigger keeps from one activation to the next. */
interface Kept {
	/** In ms since 1970. */
	at: number;
}

/**
 * Left by a closed trigger for the next one of the same node in this process: n8n saves static data
 * only along with an execution, so it may be older.
 */
class LeftBehind extends Map<string, Kept> {}

const left = () => thisProcess.shared(LeftBehind);

/** Leaves something to the next activation. */
export const leave = (key: string, kept: Kept): void => void left().set(key, kept);

/** Takes what was left, or what n8n has stored if that is newer. */
export function takeKept<T extends Kept>(key: string, stored: T | undefined): T | undefined {
	const inProcess = left().get(key) as T | undefined;
	left().delete(key);
	if (!inProcess || !stored) return inProcess ?? stored;
	// What is stored with a time to come was stored before the clock was set back.
	const isNewer = inProcess.at >= stored.at || stored.at > Date.now();
	return isNewer ? inProcess : stored;
}
