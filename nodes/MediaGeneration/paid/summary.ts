import { truncate } from '../../shared/parsing/values';
import type { JournalValue } from './journal';

/** How many ids or items a message names, and how many characters of each. */
const MAX_NAMED = 5;
const MAX_CHARS = 300;

/** The first of `names`, and how many more there are. */
export function firstOf(texts: string[], separator: string): string {
	const more = texts.length > MAX_NAMED ? ` and ${texts.length - MAX_NAMED} more` : '';
	return texts.slice(0, MAX_NAMED).join(separator) + more;
}

/** What is kept of a request of an item of the run. */
export type ItemRequest = JournalValue & { index: number };

/** What a request has made, or may have made, each with its item. */
function describe(request: ItemRequest): string[] {
	const item = `item ${request.index}:`;
	if ('taskId' in request) return [`${item} task ${truncate(request.taskId, MAX_CHARS)}`];
	const { kind = 'speech', files = [], announcedIds = [] } = request.request ?? {};
	const ids = files.length > 0 ? files.map(({ id, fileUrl }) => id ?? fileUrl) : announcedIds;
	if (ids.length === 0) return [`${item} ${kind} requested`];
	return ids.map((id) => `${item} ${kind} ${truncate(id, MAX_CHARS)}`);
}

/**
 * In words, what a run that ends early has paid for, or may have, and the way to it; undefined when that is
 * nothing. `requests` are those of its items, in order; `failed` is the item that ends it, none when the run
 * is stopped.
 */
export function chargeSummary(requests: ItemRequest[], failed?: number): string | undefined {
	const others = requests.filter(({ index, state }) => index !== failed && state !== 'gone');
	const paid = others.filter(({ state }) => state !== 'sent').flatMap(describe);
	const unsure = others.filter(({ state }) => state === 'sent').flatMap(describe);
	const isStopped = failed === undefined;
	// In a retry the same input fails again, so it has to be let past. n8n offers none of a stopped run.
	const way = isStopped
		? 'use Speech → Collect with the task ID, or, for videos and images, History → Get Many'
		: "set On Error in the node's settings to 'Continue (using error output)', save, and choose 'Retry with currently saved workflow (from node with error)' in the executions list";
	const again = isStopped
		? "Check History → Get Many, or the provider's website, before you run this again."
		: 'A retry does not send this again.';
	const sentences = [
		paid.length > 0 &&
			`Already paid for: ${firstOf(paid, '; ')}. To collect this at no extra charge, ${way}.`,
		unsure.length > 0 &&
			`Perhaps paid for, since the service did not confirm it: ${firstOf(unsure, '; ')}. ${again}`,
	];
	return sentences.filter(Boolean).join(' ') || undefined;
}
