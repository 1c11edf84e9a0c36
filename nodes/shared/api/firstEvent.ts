import { startDeadline, whenAborted } from '../async/deadline';
import { Failure, isTransient } from '../failure';
import { GenerationEvents } from '../parsing/generationEvents';
import type { Source } from '../parsing/responses';

/** How long an answer may say nothing until the call counts as accepted, in ms. */
const FIRST_EVENT_MS = 1000;

/**
 * The same stream, once it has begun. Throws rateLimited when the first that it says is that too much is
 * under way: some services accept every call and refuse in this way. Waits no longer than `signal`.
 */
export async function refusalChecked(
	stream: AsyncIterable<Uint8Array>,
	source: Source,
	signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
	const iterator = stream[Symbol.asyncIterator]();
	const read: Array<Promise<IteratorResult<Uint8Array>>> = [];
	let hasBegun = false;
	const events = new GenerationEvents(source, () => (hasBegun = true));
	const patience = startDeadline(FIRST_EVENT_MS, signal);
	while (!hasBegun && !events.outcome && !patience.signal.aborted) {
		const next = iterator.next();
		read.push(next);
		// If it breaks off, whoever reads on will see.
		const part = await Promise.race([next, whenAborted(patience.signal)]).catch(() => undefined);
		if (!part) break;
		if (part.done) events.markEnded();
		else events.push(part.value);
	}
	patience.stop();
	const { outcome } = events;
	if (!hasBegun && isTransient(outcome)) throw new Failure('rateLimited', outcome.facts);
	return continued(iterator, read);
}

/** What was read of a stream, then the rest of it. */
async function* continued(
	iterator: AsyncIterator<Uint8Array>,
	read: Array<Promise<IteratorResult<Uint8Array>>>,
): AsyncGenerator<Uint8Array> {
	for (;;) {
		const part = await (read.shift() ?? iterator.next());
		if (part.done) return;
		yield part.value;
	}
}
