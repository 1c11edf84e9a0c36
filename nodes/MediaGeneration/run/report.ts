import type { IExecuteFunctions } from 'n8n-workflow';
import { Failure } from '../../shared/failure';
import type { Redactor } from '../../shared/parsing/redaction';
import { NotMade, type Made } from './job';

/** What is logged of an item, as `key=value`. */
type LoggedFacts = Record<string, string | number | undefined>;

/** Ids are the service's: what could be taken for another pair, or another line, is quoted. */
const quoted = (value: string | number | undefined) =>
	/[\s="]/.test(`${value}`) ? JSON.stringify(value) : value;

function bytesOf(part: Made): number {
	if (part instanceof NotMade) return 0;
	return Object.values(part.binary ?? {}).reduce((sum, { bytes = 0 }) => sum + bytes, 0);
}

/** Why an item failed; of a speech in parts, with the part that did. */
function causeOf({ error }: NotMade): LoggedFacts {
	if (!(error instanceof Failure)) return { reason: 'unexpected' };
	const { kind, facts } = error;
	if (facts.part === undefined) return { reason: kind };
	return { reason: kind, part: Number.parseInt(facts.part), task: facts.taskId };
}

/** What is told of one item: in the browser's console, in n8n's log, and with the output. */
export class Report {
	/** What the output panel says about it, by what it is about. */
	readonly hints = new Map<string, string>();
	/** How many create calls the service has accepted in this run. */
	paidRequests = 0;
	/** Empty unless something was paid or waited for. */
	private readonly facts: LoggedFacts = {};

	constructor(
		private readonly context: IExecuteFunctions,
		private readonly redact: Redactor,
		private readonly index: number,
	) {}

	/** Shows progress in the browser's console to whoever runs the workflow by hand. */
	progress(text: string): void {
		this.context.sendMessageToUI(this.redact.text(`Item ${this.index}: ${text}`));
	}

	/** The same, plus a line in n8n's log, which costs some 50 µs even when it is not written. */
	milestone(text: string): void {
		this.progress(text);
		this.write('debug', text);
	}

	/** A hint shown with the output; those `about` the same thing become one that names their items. */
	hint(about: string, message: string): void {
		this.hints.set(about, message);
	}

	/** Adds to the line that n8n's log gets when the item ends. */
	note(facts: LoggedFacts): void {
		Object.assign(this.facts, facts);
	}

	/** A create call goes out, perhaps not for the first time. */
	noteAttempt(): void {
		this.facts.attempts = Number(this.facts.attempts ?? 0) + 1;
	}

	/**
	 * The service has accepted a create call; `own` are the facts of this call alone. When the process
	 * is killed, n8n's log is the only record of what was paid.
	 */
	recordPayment(kind: string, own: LoggedFacts = {}): void {
		this.paidRequests++;
		this.write('info', 'paid', { kind, ...this.facts, ...own });
	}

	/** The item has ended after `waitedMs`; `unclear` of its requests may be paid. */
	finish(operation: string, made: Made[], waitedMs: number, unclear: number): void {
		const failed = made.find((part) => part instanceof NotMade);
		const bytes = made.reduce((sum, part) => sum + bytesOf(part), 0);
		if (unclear > 0) this.note({ maybe_paid: unclear });
		// If nothing was paid or waited for, nobody will ask.
		const level = Object.keys(this.facts).length > 0 ? 'info' : 'debug';
		this.write(level, failed ? 'failed' : 'done', {
			...this.facts,
			operation,
			...(failed && causeOf(failed)),
			bytes: failed && bytes === 0 ? undefined : bytes,
			waited_ms: waitedMs,
		});
	}

	private write(level: 'debug' | 'info', text: string, facts: LoggedFacts = {}): void {
		const known = Object.entries(facts).filter(([, value]) => value !== undefined);
		const pairs = known.map(([key, value]) => ` ${key}=${quoted(value)}`).join('');
		const line = `Media Generation, Item ${this.index}: ${text}${pairs}`;
		this.context.logger[level](this.redact.text(line));
	}
}
