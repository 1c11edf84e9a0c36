import type { GenerationJob } from './generation.mts';
import { scenarioWords, unknownWord, type Scenario } from './scenarios.mts';
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

const HTML = { 'Content-Type': 'text/html; charset=utf-8' };

/** An HTML page as an edge in front of the service would answer it. */
export function htmlReply(status: number, title: string): PlainReply {
	const body = `<!DOCTYPE html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`;
	return { status, body, headers: HTML };
}

/** An HTTP error in the shape of the dialect; `code` is the machine word (docs/contract.md, “HTTP”). */
export function problem(
	world: World,
	status: number,
	code: string,
	sentence = code.replaceAll('_', ' '),
	headers: Record<string, string> = {},
): PlainReply {
	switch (world.dialect.errorBody) {
		case 'error':
			return { status, body: { error: code }, headers };
		case 'message':
			return { status, body: { message: sentence }, headers };
		case 'detail':
			return { status, body: { detail: sentence }, headers };
		case 'nested':
			return { status, body: { error: { code, message: sentence } }, headers };
		case 'empty':
			return { status, body: '', headers };
		case 'html': {
			const page = htmlReply(status, `${status} ${sentence}`);
			return { ...page, headers: { ...headers, ...page.headers } };
		}
	}
}

/** The body of a call as a record; anything but a JSON object is an empty one. */
export function bodyOf(call: Call): Record<string, unknown> {
	const body = call.body;
	return typeof body === 'object' && body !== null && !Array.isArray(body)
		? (body as Record<string, unknown>)
		: {};
}

/** The answer to a valid create call that is not accepted (so not paid), or undefined. */
export function refusal(
	world: World,
	call: Call,
	scenario: Scenario,
	text: string,
): PlainReply | undefined {
	const unknown = unknownWord(scenario);
	if (unknown !== undefined) {
		const known = Object.keys(scenarioWords).join(', ');
		return problem(world, 400, 'unknown_scenario', `No scenario "${unknown}". Known: ${known}`);
	}
	if (scenario.has('html-error')) return htmlReply(502, '502 Bad Gateway');
	const key = `${call.token} ${call.path} ${text}`;
	if (scenario.has('rate-limit') && !world.limited.has(key)) {
		world.limited.add(key);
		return problem(world, 429, 'rate_limited', 'Too many requests', { 'Retry-After': '2' });
	}
	const working = [...world.working].filter(({ token }) => token === call.token).length;
	if (working >= (world.mostAtOnce ?? Infinity)) {
		return problem(world, 429, 'too_many_at_once', 'Too many at once', { 'Retry-After': '1' });
	}
	const credits = scenario.get('no-credits');
	if (credits === 'sentence') {
		return problem(world, 400, 'You do not have enough credits to perform this action.');
	}
	const used = world.options.credits !== undefined && world.creates >= world.options.credits;
	if (used || (credits !== undefined && credits !== 'event')) {
		return problem(world, 402, 'insufficient_credits', 'You have not enough credits.');
	}
	return undefined;
}

/** A page request: `page` counted from `first`, `page_size` 1 to 100 (default 20); or the error. */
export function pageOf(
	world: World,
	call: Call,
	first: number,
): { page: number; size: number } | PlainReply {
	const page = Number(call.query.get('page') ?? first);
	const size = Number(call.query.get('page_size') ?? 20);
	if (!Number.isInteger(page) || page < first) return problem(world, 400, 'invalid_page');
	if (!Number.isInteger(size) || size < 1 || size > 100) {
		return problem(world, 400, 'invalid_page_size');
	}
	return { page, size };
}
