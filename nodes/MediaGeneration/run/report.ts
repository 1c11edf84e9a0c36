import type { IExecuteFunctions } from 'n8n-workflow';
import type { MediaKind } from '../../shared/contract';
import { isFailure, type Failure } from '../../shared/failure';
import type { Redactor } from '../../shared/parsing/redaction';

/** Reports about one item: in the browser's console, in n8n's log, and in the output panel. */
export class Report {
	constructor(
		private readonly context: IExecuteFunctions,
		private readonly redact: Redactor,
		/** The hints of the run, each with the indexes of its items. */
		private readonly hints: Map<string, Set<number>>,
		/** The index of the item, from 0, and how many items the run has. */
		private readonly item: { index: number; count: number },
		/** The number of the part, from 1, and how many there are; undefined if the report is not about a part. */
		private readonly part?: { number: number; count: number },
	) {}

	forPart(part: { number: number; count: number }): Report {
		return new Report(this.context, this.redact, this.hints, this.item, part);
	}

	/** Shows a text in the browser's console of the person who runs the workflow manually. */
	progress(text: string): void {
		const { index, count } = this.item;
		const row = `Row ${index + 1} of ${count}`;
		this.context.sendMessageToUI(this.redact.text(`${row}: ${this.partPrefix}${text}`));
	}

	/** Shows that the service has refused a create call, if the reason is rate, load or quota. */
	showRefusal(failure: Failure | undefined): void {
		if (isFailure(failure, 'throttled')) this.progress('the service accepts no more requests now');
	}

	/** Does what `progress` does, and logs a debug line. Call it rarely: even a suppressed line costs time. */
	log(text: string): void {
		this.progress(text);
		this.writeLogLine('debug', this.partPrefix + text);
	}

	/** Adds a hint for the output panel. */
	hint(message: string): void {
		const indexes = this.hints.get(message) ?? new Set<number>();
		this.hints.set(message, indexes.add(this.item.index));
	}

	/** Logs an accepted billable request, in case the process is killed before n8n saves the execution. */
	logCharge(kind: MediaKind, ids: Record<string, string>): void {
		const part = this.part && { part: `${this.part.number}` };
		// The service chooses the ids. Quotes keep an id from looking like another pair or another line.
		const pairs = Object.entries({ kind, ...part, ...ids }).map(([key, value]) => {
			return ` ${key}=${/[\s="]/.test(value) ? JSON.stringify(value) : value}`;
		});
		this.writeLogLine('info', `paid${pairs.join('')}`);
	}

	/** A prefix for texts about a part, such as `part 3 of 12, `; '' if the report is not about a part. */
	private get partPrefix(): string {
		const { part } = this;
		return part ? `part ${part.number} of ${part.count}, ` : '';
	}

	private writeLogLine(level: 'debug' | 'info', text: string): void {
		const line = `Media Generation, row ${this.item.index + 1}: ${text}`;
		this.context.logger[level](this.redact.text(line));
	}
}
