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

/** Names of events that n8n refused after their trigger was closed, by the trigger's key. */
class Refused extends Map<string, Set<string>> {}

const refused = () => thisProcess.shared(Refused);

/** n8n could not start the execution of something that counted as emitted when the trigger was closed. */
export function leaveRefused(key: string, name: string): void {
	refused().set(key, (refused().get(key) ?? new Set()).add(name));
}

/** Takes what was refused since the last time. */
export function takeRefused(key: string): string[] {
	const names = [...(refused().get(key) ?? [])];
	refused().delete(key);
	return names;
}

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
