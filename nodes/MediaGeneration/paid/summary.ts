import { clip } from '../../shared/parsing/coerce';
import type { GeneratedFile } from '../../shared/contract';
import type { Redactor } from '../../shared/parsing/redaction';
import type { PaidRequest } from './resume';

/** How many ids a message names, and how many characters of each. */
const MAX_NAMED = 5;
const MAX_CHARS = 300;

/** How files are named to people. */
export const namesOf = (files: GeneratedFile[]) => files.map(({ id, fileUrl }) => id ?? fileUrl);

interface Cost {
	/** Of the item. */
	index: number;
	/** `task`, `video`, say. */
	what: string;
	/** Its ids, or addresses of its files, as far as they are known. */
	ids: string[];
	/** True once the service has accepted it; until then it may have. */
	isSure: boolean;
}

/** What a run has paid for, or may have, by item. Reported when the run ends early. */
export class PaidSummary {
	private readonly costs = new Map<string, Cost>();

	constructor(private readonly redact: Redactor) {}

	/** A create call goes out: until it is answered, it may be paid for. */
	maybe(index: number, what: string, part = 0): void {
		this.costs.set(`${index}/${part}`, { index, what, ids: [], isSure: false });
	}

	/** The service has accepted the item. */
	surely(index: number, what: string, ids: string[], part = 0): void {
		this.costs.set(`${index}/${part}`, { index, what, ids, isSure: true });
	}

	/** An earlier attempt has paid for the item, or may have. */
	recall(index: number, { doubtful, taskId, sentAt, asked, files }: PaidRequest, part = 0): void {
		if (doubtful) return;
		if (taskId !== undefined) this.surely(index, 'task', [taskId], part);
		else if (sentAt !== undefined) this.maybe(index, 'speech', part);
		else if (asked && files) this.surely(index, asked.kind, namesOf(files), part);
		else if (asked) this.maybe(index, asked.kind, part);
	}

	/** The service has not accepted the item, or has failed to make it. */
	not(index: number, part = 0): void {
		this.costs.delete(`${index}/${part}`);
	}

	/**
	 * In words, how many items of a run that ends early are paid, or may be, and the way to what was
	 * paid; undefined when nothing is. `failed` is the item that ends it; none when the run is stopped.
	 */
	words(failed?: number, mostNamed = MAX_NAMED): string | undefined {
		const costs = [...this.costs.values()]
			.filter(({ index }) => index !== failed)
			.sort((a, b) => a.index - b.index);
		const other = failed === undefined ? '' : ' other';
		const of = (isSure: boolean) => {
			const wanted = costs.filter((cost) => cost.isSure === isSure);
			const items = new Set(wanted.map(({ index }) => index)).size;
			const named = wanted.flatMap(({ index, what, ids }) =>
				ids.length === 0
					? [`item ${index}: ${what} requested`]
					: ids.map((id) => `item ${index}: ${what} ${clip(this.redact.text(id), MAX_CHARS)}`),
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
}
