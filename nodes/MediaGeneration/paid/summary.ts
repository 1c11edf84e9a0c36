import { clip } from '../../shared/parsing/coerce';
import type { Redactor } from '../../shared/parsing/redaction';

/** How many ids a message names, and how many characters of each. */
const MOST_NAMED = 5;
const MOST_CHARS = 300;

interface Cost {
	/** `task`, `video`, say. */
	what: string;
	/** Its ids, or addresses of its files, as far as they are known. */
	ids: string[];
	/** True once the service has accepted it; until then it may have. */
	isSure: boolean;
}

/** What a run has paid for, or may have, by item. Reported when the run ends early. */
export class PaidSummary {
	private readonly costs = new Map<number, Cost>();

	constructor(private readonly redact: Redactor) {}

	/** A create call goes out: until it is answered, it may be paid for. */
	maybe(index: number, what: string): void {
		this.costs.set(index, { what, ids: [], isSure: false });
	}

	/** The service has accepted the item. */
	surely(index: number, what: string, ids: string[]): void {
		this.costs.set(index, { what, ids, isSure: true });
	}

	/** The service has not accepted the item, or has failed to make it. */
	not(index: number): void {
		this.costs.delete(index);
	}

	/**
	 * What was paid for, or may have been, in a run that ends early, as text; undefined if nothing.
	 * `failed` is the item that ends it and reports its own cost; undefined when the run was stopped.
	 */
	words(failed?: number, mostNamed = MOST_NAMED): string | undefined {
		const costs = [...this.costs].filter(([index]) => index !== failed).sort(([a], [b]) => a - b);
		const list = (isSure: boolean) => {
			const named = costs
				.filter(([, cost]) => cost.isSure === isSure)
				.flatMap(([index, { what, ids }]) =>
					ids.length === 0
						? [`item ${index}: ${what} asked for`]
						: ids.map((id) => `item ${index}: ${what} ${clip(this.redact.text(id), MOST_CHARS)}`),
				);
			const more = named.length > mostNamed ? ` and ${named.length - mostNamed} more` : '';
			return named.slice(0, mostNamed).join('; ') + more;
		};
		const [paid, unsure] = [list(true), list(false)];
		const [whose, asWell] = failed === undefined ? ['Items', ''] : ['Other items', ' as well'];
		const sentences = [
			paid &&
				`${whose} of this run are paid${asWell} (${paid}): Retry collects them without paying again, and so do Speech → Wait and History → Get Many.`,
			unsure &&
				`${whose} of this run may be paid, though the service has not said so (${unsure}): Retry does not send them again.`,
		];
		return sentences.filter(Boolean).join(' ') || undefined;
	}
}
