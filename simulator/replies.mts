import type { GenerationJob } from './generation.mts';
import { scenarioWords, type Scenario } from './scenarios.mts';
import type { World } from './world.mts';

/** One authenticated API call. */
export interface Call {
	method: string;
	path: string;
	query: URLSearchParams;
	body: unknown;
	token: string;
	/** Set by the `sse` fault: the job says nothing and finishes when told, if at all. */
	muted?: { finishesAfterMs: number | undefined };
}

export interface PlainReply {
	status: number;
	/** A string is sent as it is, anything else as JSON. */
	body: unknown;
	headers?: Record<string, string>;
	/** Milliseconds to hold the answer back. */
	delayMs?: number;
}

export type Reply = PlainReply | { job: GenerationJob; plainJson: boolean };

/** An HTML page as an edge in front of the service would answer it. */
export function htmlReply(status: number, title: string): PlainReply {
	const body = `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
	return { status, body, headers: { 'Content-Type': 'text/html; charset=utf-8' } };
}

/** An HTTP error; it is the machine word (docs/contract.md, “HTTP”), or a sentence. */
export const problem = (status: number, error: string, headers = {}): PlainReply => {
	return { status, body: { error }, headers };
};

/** The fields of a call's body; none of anything but a JSON object. */
export const bodyOf = ({ body }: Call) => Object(body) as Record<string, unknown>;

/** The answer to a valid create call that is not accepted (so not paid), or undefined. */
export function refusal(world: World, call: Call, scenario: Scenario): PlainReply | undefined {
	// A slip of the pen must not pass in silence.
	const unknown = [...scenario.keys()].find((name) => !Object.hasOwn(scenarioWords, name));
	if (unknown !== undefined) {
		const known = Object.keys(scenarioWords).join(', ');
		return problem(400, `No scenario "${unknown}". Known: ${known}`);
	}
	const working = [...world.working].filter(({ token }) => token === call.token).length;
	if (working >= (world.mostAtOnce ?? Infinity)) {
		return problem(429, 'too_many_at_once', { 'Retry-After': '1' });
	}
	const credits = scenario.get('no-credits');
	if (credits === 'sentence') {
		return problem(400, 'You do not have enough credits to perform this action.');
	}
	const used = world.options.credits !== undefined && world.creates >= world.options.credits;
	if (used || (credits !== undefined && credits !== 'event')) {
		return problem(402, 'insufficient_credits');
	}
	return undefined;
}

/**
 * The page of `all` that a call asks for, as the dialect numbers it: `page` counted from `first`,
 * `page_size` 1 to 100 (default 20); or the error.
 */
export function pageOf<Item>(
	world: World,
	call: Call,
	all: readonly Item[],
	first: 0 | 1,
): { items: Item[]; page: number; page_size: number } | PlainReply {
	const page = Number(call.query.get('page') ?? first);
	const size = Number(call.query.get('page_size') ?? 20);
	if (!Number.isInteger(page) || page < first) return problem(400, 'invalid_page');
	if (!Number.isInteger(size) || size < 1 || size > 100) return problem(400, 'invalid_page_size');
	const start = (page - first) * size;
	const echoed = world.dialect.pageEcho === 'wrong' ? 1 : page;
	return { items: all.slice(start, start + size), page: echoed, page_size: size };
}
