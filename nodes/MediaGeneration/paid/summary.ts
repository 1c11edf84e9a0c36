import { clip } from '../../shared/parsing/coerce';
import type { Redactor } from '../../shared/parsing/redaction';
import type { PaidRequest } from './paidLog';

/** How many ids or items a message names, and how many characters of each. */
const MAX_NAMED = 5;
const MAX_CHARS = 300;

/** The first of `names`, and how many more there are. */
export function firstOf(names: string[], separator: string): string {
	const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
	return names.slice(0, MAX_NAMED).join(separator) + more;
}

/** What is kept of a request of an item of the run. */
export type ItemRequest = PaidRequest & { index: number };

/** The ids of what a request has made, or is known to make. */
function idsOf(request: PaidRequest): string[] {
	if (request.state === 'task') return [request.taskId];
	const { files = [], told = [] } = request.asked ?? {};
	return files.length > 0 ? files.map(({ id, fileUrl }) => id ?? fileUrl) : told;
}

/** What a request has made, or may have made, each with its item. */
function namesOf(request: ItemRequest, redact: Redactor): string[] {
	const kind = request.state === 'task' ? 'task' : (request.asked?.kind ?? 'speech');
	const what = `item ${request.index}: ${kind}`;
	const ids = idsOf(request);
	if (ids.length === 0) return [`${what} requested`];
	return ids.map((id) => `${what} ${clip(redact.text(id), MAX_CHARS)}`);
}

/**
 * In words, how many items of a run that ends early are paid, or may be, and the way to what was paid;
 * undefined when nothing is. `requests` are those of its items, in order; `failed` is the item that ends
 * it, none when the run is stopped.
 */
export function paidWords(
	requests: ItemRequest[],
	redact: Redactor,
	failed?: number,
): string | undefined {
	const costs = requests.filter(
		(request) => request.index !== failed && !(request.state === 'task' && request.isGone),
	);
	const isStopped = failed === undefined;
	const say = (those: ItemRequest[]) => {
		const items = new Set(those.map(({ index }) => index)).size;
		const names = those.flatMap((request) => namesOf(request, redact));
		const list = firstOf(names, '; ');
		const other = isStopped ? '' : ' other';
		return items === 1
			? { list, count: `1${other} item`, is: 'is', it: 'it' }
			: { list, count: `${items}${other} items`, is: 'are', it: 'them' };
	};
	const paid = say(costs.filter(({ state }) => state !== 'sent'));
	const unsure = say(costs.filter(({ state }) => state === 'sent'));
	// In a retry the same input fails again, so it has to be let past. n8n offers none of a stopped run.
	const way = isStopped
		? 'use Speech → Collect with the task ID, or, for videos and images, History → Get Many'
		: "set On Error in the node's settings to 'Continue (using error output)', and choose 'Retry with currently saved workflow (from node with error)'";
	const again = isStopped
		? "Check History → Get Many, or the provider's website, before you run this again."
		: `A retry does not send ${unsure.it} again.`;
	const sentences = [
		paid.list &&
			`${paid.count} ${paid.is} paid for. To collect ${paid.it} at no extra charge, ${way}. Paid: ${paid.list}.`,
		unsure.list &&
			`${unsure.count} may be paid for: the service did not confirm ${unsure.it}. ${again} Unconfirmed: ${unsure.list}.`,
	];
	return sentences.filter(Boolean).join(' ') || undefined;
}
