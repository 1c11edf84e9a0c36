import { Failure } from '../../shared/failure';
import { isUnclear } from '../paid/resume';
import { NotMade, type Job, type Made } from './job';
import type { Run } from './run';

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

/** The lines that one item leaves in n8n's log, for an operator whose night went wrong. */
export class ItemLog {
	/** Empty unless something was paid or waited for. */
	private readonly facts: LoggedFacts = {};

	constructor(
		private readonly run: Run,
		private readonly index: number,
	) {}

	asked(): void {
		this.facts.attempts = Number(this.facts.attempts ?? 0) + 1;
	}

	/**
	 * The service has accepted a create call; `own` are the facts of this call alone. When the process
	 * is killed, n8n's log is the only record of what was paid.
	 */
	paid(kind: string, own: LoggedFacts = {}): void {
		this.run.traced.paid++;
		this.run.charged.add(this.index);
		this.write('info', 'paid', { kind, ...this.facts, ...own });
	}

	note(facts: LoggedFacts): void {
		Object.assign(this.facts, facts);
	}

	/** The same job, which writes a line when it ends, and never rejects. */
	logged(operation: string, job: Job): Job {
		return async () => {
			const began = Date.now();
			const made = await job().catch((error: unknown) => [new NotMade(error)]);
			this.end(operation, made, Date.now() - began);
			return made;
		};
	}

	private end(operation: string, made: Made[], waitedMs: number): void {
		const { traced, resume } = this.run;
		const failed = made.find((part) => part instanceof NotMade);
		const bytes = made.reduce((sum, part) => sum + bytesOf(part), 0);
		if (failed) traced.failed++;
		traced.bytes += bytes;
		traced.waited_ms = Math.max(traced.waited_ms, waitedMs);
		const unclear = resume.ofItem(this.index).filter(isUnclear).length;
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

	private write(level: 'debug' | 'info', event: string, facts: LoggedFacts): void {
		const known = Object.entries(facts).filter(([, value]) => value !== undefined);
		const pairs = known.map(([key, value]) => ` ${key}=${quoted(value)}`).join('');
		const { context, credential } = this.run;
		const text = `Media Generation, Item ${this.index}: ${event}${pairs}`;
		context.logger[level](credential.redact.text(text));
	}
}
