import type {
	IExecuteFunctions,
	IHttpRequestMethods,
	IHttpRequestOptions,
	ILoadOptionsFunctions,
	ITriggerFunctions,
} from 'n8n-workflow';
import { abortReason, startDeadline, throwIfAborted } from './clock';
import { failureOfConnection } from './connection';
import { Failure } from './failure';
import { MAX_ERROR_BYTES, MAX_JSON_BYTES, MAX_REDIRECTS } from './limits';
import type { EgressCheck } from './socket';
import { asWebUrl } from './values';

/** Any n8n context that may talk to the service. */
export type ServiceContext = IExecuteFunctions | ILoadOptionsFunctions | ITriggerFunctions;

export const CREDENTIAL_TYPE = 'mediaGenerationApi';

/** How long the body of an error answer is waited for. */
const ERROR_BODY_SECONDS = 5;

/** The part of Node's readable stream that is used here (node:stream may not be imported). */
export interface ByteStream extends AsyncIterable<Uint8Array> {
	destroy(error?: Error): unknown;
	read(): Uint8Array | null;
	unshift(chunk: Uint8Array): unknown;
	on(event: string, listener: (value: never) => void): unknown;
	once(event: string, listener: (value: never) => void): unknown;
	removeListener(event: string, listener: (value: never) => void): unknown;
	/** Called with each part that comes in, by whatever the stream is made of. */
	push(chunk: Uint8Array | null, ...rest: unknown[]): boolean;
	readableEnded?: boolean;
}

export interface HttpRequest {
	method: IHttpRequestMethods;
	url: string;
	query?: Record<string, string | number>;
	/** Sent as `application/json`. */
	body?: Buffer;
	accept: string;
	/** For a file: packing it would hide how much is to come, and how much has come. */
	unpacked?: boolean;
	/** Milliseconds until the answer (of a stream: until its headers). */
	timeoutMs: number;
	signal: AbortSignal;
	/** The only origin that gets the token. */
	tokenOrigin: string;
	/** The token, for a context in which n8n's own way to add it is too dear. */
	apiToken: string;
	/** Where redirects are followed to; 'none' and foreign ones come back as the 3xx answer. */
	follow: 'none' | 'sameOrigin' | 'any';
}

export interface HttpAnswer<Body> {
	status: number;
	headers: Record<string, string | undefined>;
	body: Body;
	/** Where the answer came from in the end. */
	url: string;
	/** Ends the connection; what was not read is given up. */
	close(): void;
}

/**
 * n8n replaces a caller's abortSignal by the execution's own cancel signal, so a deadline would
 * never reach the request. A context that answers with the combined signal keeps both.
 */
function withSignal<T extends ServiceContext>(context: T, signal: AbortSignal): T {
	return Object.create(context, { getExecutionCancelSignal: { value: () => signal } }) as T;
}

/**
 * Asks the egress policy of the instance before a socket is opened beside n8n's request helper.
 * Throws a Failure when it forbids the address.
 */
export const egressCheckOf = (context: ServiceContext): EgressCheck => {
	return async (url) => {
		// Present since about n8n 2.30; lets everything pass where no policy is set.
		const filter = (context as IExecuteFunctions).helpers.getSecureEgressFilter?.();
		const result = await filter?.validateUrl(url);
		if (result && !result.ok) {
			throw new Failure('unreachable', { host: new URL(url).host, text: 'blocked' });
		}
	};
};

/**
 * For each authenticated request outside an execution n8n (2.41) makes an isolate to resolve the
 * credential's expressions in: 20 to 60 ms of its only thread, and memory that it never gives back.
 * A trigger makes thousands of them, and was given the token when it was started.
 */
const isTrigger = (context: ServiceContext): context is ITriggerFunctions => 'emit' in context;

async function send(
	context: ServiceContext,
	request: HttpRequest,
	url: string,
	signal: AbortSignal,
): Promise<unknown> {
	const options: IHttpRequestOptions = {
		method: request.method,
		url,
		qs: request.query,
		body: request.body,
		headers: {
			Accept: request.accept,
			...(request.body ? { 'Content-Type': 'application/json' } : {}),
			...(request.unpacked ? { 'Accept-Encoding': 'identity' } : {}),
		},
		encoding: 'stream',
		returnFullResponse: true,
		ignoreHttpStatusErrors: true,
		disableFollowRedirect: true,
		sendCredentialsOnCrossOriginRedirect: false,
		timeout: Math.max(1, Math.round(request.timeoutMs)),
		abortSignal: signal,
	};
	if (new URL(url).origin !== request.tokenOrigin) {
		return await context.helpers.httpRequest(options);
	}
	if (isTrigger(context)) {
		const Authorization = `Bearer ${request.apiToken}`;
		return await context.helpers.httpRequest({
			...options,
			headers: { ...options.headers, Authorization },
		});
	}
	return await context.helpers.httpRequestWithAuthentication.call(
		withSignal(context as IExecuteFunctions, signal),
		CREDENTIAL_TYPE,
		options,
	);
}

function redirectTarget(request: HttpRequest, answer: HttpAnswer<ByteStream>): string | undefined {
	const { location } = answer.headers;
	if (![301, 302, 303, 307, 308].includes(answer.status) || !location) return undefined;
	if (request.follow === 'none') return undefined;
	const target = asWebUrl(location, answer.url);
	if (request.follow === 'sameOrigin' && target?.origin !== request.tokenOrigin) return undefined;
	return target?.href;
}

/**
 * One HTTP exchange through n8n's request helper; the body comes as a stream, whatever the status.
 * The token goes to `tokenOrigin` only, also across redirects. Throws a Failure when there is no
 * answer, or the reason of `signal` when that aborts.
 */
export async function exchange(
	context: ServiceContext,
	request: HttpRequest,
): Promise<HttpAnswer<ByteStream>> {
	let { url } = request;
	for (let hop = 0; ; hop++) {
		throwIfAborted(request.signal);
		const closing = new AbortController();
		const signal = AbortSignal.any([request.signal, closing.signal]);
		let response: { statusCode: number; headers: Record<string, string>; body: ByteStream };
		try {
			response = (await send(context, request, url, signal)) as typeof response;
		} catch (error) {
			throw request.signal.aborted ? abortReason(request.signal) : failureOfConnection(error, url);
		}
		const answer = {
			status: response.statusCode,
			headers: response.headers ?? {},
			body: response.body,
			url,
			close() {
				// Destroying the stream alone can leave its connection open (n8n notes D).
				closing.abort(new Failure('canceled'));
				response.body.destroy();
			},
		};
		// A stream without a listener would take the process down when it breaks.
		answer.body.on('error', () => {});
		const target = hop < MAX_REDIRECTS ? redirectTarget(request, answer) : undefined;
		if (target === undefined) return answer;
		answer.close();
		url = target;
	}
}

/**
 * The body as text, as a whole. Throws a Failure when it is larger than any answer, or when the
 * connection breaks on the way; else the signal's reason.
 */
export async function readText(
	answer: HttpAnswer<ByteStream>,
	signal: AbortSignal,
): Promise<string> {
	const { text, end } = await readUpTo(MAX_JSON_BYTES, answer, signal);
	if (end === 'cut') {
		const megabytes = MAX_JSON_BYTES / 1024 / 1024;
		throw new Failure('tooLarge', { text: `an answer of more than ${megabytes} MB` });
	}
	if (end === 'broken') {
		throw new Failure('noAnswer', { host: new URL(answer.url).host, transient: true });
	}
	return text;
}

/**
 * The beginning of the body of an error answer, as far as it comes within some seconds: its status
 * tells enough to go on without. Throws the signal's reason.
 */
export async function readErrorBody(
	answer: HttpAnswer<ByteStream>,
	signal: AbortSignal,
): Promise<string> {
	// That of a redirect says nothing that its headers don't.
	if (answer.status < 400) {
		answer.close();
		return '';
	}
	const patience = startDeadline(ERROR_BODY_SECONDS);
	const giveUp = () => answer.close();
	patience.signal.addEventListener('abort', giveUp, { once: true });
	const { text } = await readUpTo(MAX_ERROR_BYTES, answer, signal).finally(() => patience.stop());
	return text;
}

async function readUpTo(
	maxBytes: number,
	answer: HttpAnswer<ByteStream>,
	signal: AbortSignal,
): Promise<{ text: string; end: 'whole' | 'cut' | 'broken' }> {
	const chunks: Uint8Array[] = [];
	let size = 0;
	let isBroken = false;
	try {
		for await (const chunk of answer.body) {
			chunks.push(chunk);
			size += chunk.length;
			if (size > maxBytes) break;
		}
	} catch {
		isBroken = true;
	} finally {
		answer.close();
	}
	throwIfAborted(signal);
	const text = Buffer.concat(chunks).toString('utf8', 0, maxBytes);
	return { text, end: isBroken ? 'broken' : size > maxBytes ? 'cut' : 'whole' };
}
