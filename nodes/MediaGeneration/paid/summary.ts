import { clip } from '../../shared/parsing/coerce';
import type { Redactor } from '../../shared/parsing/redaction';
import type { PaidRequest } from './resume';

/** How many ids a message names, and how many characters of each. */
const MAX_NAMED = 5;
const MAX_CHARS = 300;

/** What a request has cost or may have; undefined when nothing. */
function costOf({ index, ...request }: PaidRequest & { index: number }) {
	const { doubtful, taskId, sentAt, asked, isAccepted = false, files } = request;
	if (doubtful) return undefined;
	if (taskId !== undefined) return { index, what: 'task', ids: [taskId], isSure: true };
	if (sentAt !== undefined) return { index, what: 'speech', ids: [], isSure: false };
	if (!asked) return undefined;
	const ids = files?.map(({ id, fileUrl }) => id ?? fileUrl) ?? asked.told;
	return { index, what: asked.kind, ids, isSure: isAccepted || files !== undefined };
}

/**
 * In words, how many items of a run that ends early are paid, or may be, and the way to what was paid;
 * undefined when nothing is. `requests` are those of its items, by index; `failed` is the item that ends
 * it, none when the run is stopped.
 */
export function paidWords(
	requests: Array<PaidRequest & { index: number }>,
	redact: Redactor,
	failed?: number,
	mostNamed = MAX_NAMED,
): string | undefined {
	const costs = requests
		.flatMap((request) => costOf(request) ?? [])
		.filter(({ index }) => index !== failed)
		.sort((a, b) => a.index - b.index);
	const other = failed === undefined ? '' : ' other';
	const of = (isSure: boolean) => {
		const wanted = costs.filter((cost) => cost.isSure === isSure);
		const items = new Set(wanted.map(({ index }) => index)).size;
		const named = wanted.flatMap(({ index, what, ids }) =>
			ids.length === 0
				? [`item ${index}: ${what} requested`]
				: ids.map((id) => `item ${index}: ${what} ${clip(redact.text(id), MAX_CHARS)}`),
		);
		const more = named.length > mostNamed ? ` and ${named.length - mostNamed} more` : '';
		const list = named.slice(0, mostNamed).join('; ') + more;
		return items === 1
			? { list, count: `1${other} item`, is: 'is', it: 'it' }
			: { list, count: `${items}${other} items`, is: 'are', it: 'them' };
	};
	const [paid, unsure] = [of(true), of(false)];
	// In a retry the same input fails again, so it has to be let past. n8n offers none of a stopped run.
	const isStopped = failed === undefined;
	const way = isStopped
		? 'use Speech → Wait with the task ID, or, for videos and images, History → Get Many'
		: "set On Error in the node's settings to 'Continue' and retry this execution with the currently saved workflow";
	const again = (those: string) =>
		isStopped
			? "Check History → Get Many, or the provider's website, before you run this again."
			: `A retry does not send ${those} again.`;
	const sentences = [
		paid.list &&
			`${paid.count} ${paid.is} paid for. To collect ${paid.it} at no extra charge, ${way}. Paid: ${paid.list}.`,
		unsure.list &&
			`${unsure.count} may be paid for: the service did not confirm ${unsure.it}. ${again(unsure.it)} Unconfirmed: ${unsure.list}.`,
	];
	return sentences.filter(Boolean).join(' ') || undefined;
}
