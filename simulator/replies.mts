import type { GenerationJob } from './generation.mts';
import { scenarioMeanings, type Scenarios } from './scenarios.mts';
import type { Simulator } from './state.mts';

/** One authenticated API call. */
export interface Call {
	method: string;
	path: string;
	query: URLSearchParams;
	body: unknown;
	token: string;
	/** The fields of the body that were read through `bodyOf`. A create call with any other field is refused. */
	checkedFields: Set<string | symbol>;
	/**
	 * Given if a fault has `sse`: the generation then sends no events. Its file is in the history after
	 * `finishesAfterMs` ms, or never.
	 */
	jobWithoutEvents?: { finishesAfterMs: number | undefined };
}

/** An answer that is sent as a whole. */
export interface PlainReply {
	status: number;
	/** A string is sent as it is, anything else as JSON. */
	body: unknown;
	headers?: Record<string, string>;
	/** How long the answer is delayed, in ms. */
	delayMs?: number;
}

/**
 * An answer to an API call: one that is sent as a whole, or the events of a generation. If `plainJson` is true, the
 * generation is answered with JSON at its end instead of a stream.
 */
export type Reply = PlainReply | { job: GenerationJob; plainJson: boolean };

/** Returns a web page, as a proxy in front of the service would send it. */
export function htmlReply(status: number, title: string): PlainReply {
	const body = `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
	return { status, body, headers: { 'Content-Type': 'text/html; charset=utf-8' } };
}

/** Returns an HTTP error of the API. `error` is a machine word (docs/contract.md, “HTTP”) or a sentence. */
export const errorReply = (status: number, error: string, headers = {}): PlainReply => {
	return { status, body: { error }, headers };
};

/** Returns the fields of a call's JSON body, and notes which are read. Returns an empty object if the body is no object. */
export const bodyOf = ({ body, checkedFields }: Call): Record<string, unknown> =>
	new Proxy(Object(body), {
		get: (fields, name) => {
			checkedFields.add(name);
			return fields[name] as unknown;
		},
	});

/**
 * Returns the answer with which a valid create call is refused, so that it is not charged. Returns undefined if the
 * call is accepted. Call this after all fields of the body were checked: the others are refused.
 */
export function refusalOfCreateCall(
	sim: Simulator,
	call: Call,
	scenarios: Scenarios,
): PlainReply | undefined {
	// A deployment may refuse an unknown field, and a field that is ignored would be tested by nothing.
	const unknownField = Object.keys(Object(call.body)).find((name) => !call.checkedFields.has(name));
	if (unknownField !== undefined) return errorReply(400, `unknown_field: ${unknownField}`);
	// A misspelled name must not be ignored, or a test would run without its scenario.
	const unknownName = [...scenarios.keys()].find((name) => !Object.hasOwn(scenarioMeanings, name));
	if (unknownName !== undefined) {
		const knownNames = Object.keys(scenarioMeanings).join(', ');
		return errorReply(400, `No scenario "${unknownName}". Known: ${knownNames}`);
	}
	const inFlight = [...sim.inFlight].filter(({ token }) => token === call.token).length;
	if (inFlight >= (sim.concurrencyLimit ?? Infinity)) {
		return errorReply(429, 'too_many_at_once', { 'Retry-After': '1' });
	}
	const credits = scenarios.get('no-credits');
	if (credits === 'sentence') {
		return errorReply(400, 'You do not have enough credits to perform this action.');
	}
	const isUsedUp = sim.options.credits !== undefined && sim.chargedCalls >= sim.options.credits;
	if (isUsedUp || (credits !== undefined && credits !== 'event')) {
		return errorReply(402, 'insufficient_credits');
	}
	return undefined;
}

/**
 * Returns the page of `allItems` that a call asks for, or the answer that refuses bad parameters. The parameter `page`
 * of the query counts from `firstPage`; `page_size` is 1 to 100, and 20 by default. With some dialects, the returned
 * number of the page is wrong.
 */
export function pageOf<Item>(
	sim: Simulator,
	call: Call,
	allItems: readonly Item[],
	firstPage: 0 | 1,
): { items: Item[]; page: number; page_size: number } | PlainReply {
	const page = Number(call.query.get('page') ?? firstPage);
	const pageSize = Number(call.query.get('page_size') ?? 20);
	if (!Number.isInteger(page) || page < firstPage) return errorReply(400, 'invalid_page');
	if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > 100)
		return errorReply(400, 'invalid_page_size');
	const start = (page - firstPage) * pageSize;
	const echoedPage = sim.dialect.pageEcho === 'wrong' ? 1 : page;
	return { items: allItems.slice(start, start + pageSize), page: echoedPage, page_size: pageSize };
}
