import type { IExecuteFunctions } from 'n8n-workflow';
import type { Redactor } from '../../shared/parsing/redaction';

/** What is told of one item: in the browser's console, in n8n's log, and with the output. */
export class Report {
	/** What the output panel says about it. */
	readonly hints = new Set<string>();

	constructor(
		private readonly context: IExecuteFunctions,
		private readonly redact: Redactor,
		private readonly index: number,
		/** How many items there are. */
		private readonly count: number,
	) {}

	/** Shows progress in the browser's console to whoever runs the workflow by hand. */
	progress(text: string): void {
		const row = `Row ${this.index + 1} of ${this.count}`;
		this.context.sendMessageToUI(this.redact.text(`${row}: ${text}`));
	}

	/** The same, plus a line in n8n's log, which costs some 50 µs even when it is not written. */
	log(text: string): void {
		this.progress(text);
		this.write('debug', text);
	}

	/** A hint shown with the output; the same of several items becomes one that names them. */
	hint(message: string): void {
		this.hints.add(message);
	}

	/**
	 * The service has accepted a create call. When the process is killed, n8n's log is the only record of
	 * what was paid.
	 */
	recordPayment(facts: Record<string, string | number>): void {
		// Ids are the service's: what could be taken for another pair, or another line, is quoted.
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
