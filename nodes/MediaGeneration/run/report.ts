import type { IExecuteFunctions } from 'n8n-workflow';
import type { Redactor } from '../../shared/parsing/redaction';

/** Reports about one item: in the browser's console, in n8n's log, and in the output panel. */
export class Report {
	/** The hints for the output panel. */
	readonly hints = new Set<string>();

	constructor(
		private readonly context: IExecuteFunctions,
		private readonly redact: Redactor,
		private readonly index: number,
		/** Number of items of the run. */
		private readonly count: number,
	) {}

	/** Shows a text in the browser's console of the person who runs the workflow manually. */
	progress(text: string): void {
		const row = `Row ${this.index + 1} of ${this.count}`;
		this.context.sendMessageToUI(this.redact.text(`${row}: ${text}`));
	}

	/**
	 * Shows a text like `progress`, and writes a debug line to n8n's log. Use it sparingly: a line takes about
	 * 50 µs, even if the log level suppresses it.
	 */
	log(text: string): void {
		this.progress(text);
		this.write('debug', text);
	}

	/** Adds a hint to the output panel. If several items have the same hint, the panel shows it once. */
	hint(message: string): void {
		this.hints.add(message);
	}

	/**
	 * Writes to n8n's log that the service has accepted a billable request. If the process is killed before the
	 * execution is saved, this line is the only record of the charge.
	 */
	recordPayment(facts: Record<string, string | number>): void {
		// The service chooses the ids. Quotes keep one from looking like another pair or another line.
		const pairs = Object.entries(facts).map(([key, value]) => {
			return ` ${key}=${/[\s="]/.test(`${value}`) ? JSON.stringify(value) : value}`;
		});
		this.write('info', `paid${pairs.join('')}`);
	}

	private write(level: 'debug' | 'info', text: string): void {
		const line = `Media Generation, row ${this.index + 1}: ${text}`;
		this.context.logger[level](this.redact.text(line));
	}
}
