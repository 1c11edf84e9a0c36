import { abortReason, NO_REASON, throwIfAborted } from './deadline';

interface Shared {
	answer: Promise<unknown>;
	users: number;
	/** Aborted when nobody wants the answer any more. */
	over: AbortController;
}

const underWay = new Map<string, Shared>();

/**
 * One reading for all in this process that want the same at the same moment: a trigger and a waiting
 * item, say, that hear of a task's end. It goes on until the last of them has left. `key` tells what is
 * read, as whom. Throws what `read` throws, or the signal's reason (a Failure).
 */
export async function shared<T>(
	key: string,
	signal: AbortSignal,
	read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
	throwIfAborted(signal);
	const reading = underWay.get(key) ?? begin(key, read);
	reading.users++;
	return await new Promise<T>((resolve, reject) => {
		const leave = () => {
			signal.removeEventListener('abort', giveUp);
			if (--reading.users > 0) return;
			if (underWay.get(key) === reading) underWay.delete(key);
			reading.over.abort(NO_REASON);
		};
		// At once: whoever reads anew in the same moment must not get the answer that was given up.
		const giveUp = () => {
			leave();
			reject(abortReason(signal));
		};
		signal.addEventListener('abort', giveUp, { once: true });
		(reading.answer as Promise<T>).then(resolve, reject).finally(() => {
			if (!signal.aborted) leave();
		});
	});
}

function begin(key: string, read: (signal: AbortSignal) => Promise<unknown>): Shared {
	const over = new AbortController();
	const reading: Shared = { answer: read(over.signal), users: 0, over };
	const forget = () => {
		if (underWay.get(key) === reading) underWay.delete(key);
	};
	reading.answer.then(forget, forget);
	underWay.set(key, reading);
	return reading;
}
