import type {
	IExecuteFunctions,
	IHttpRequestMethods,
	IHttpRequestOptions,
	ILoadOptionsFunctions,
	ITriggerFunctions,
} from 'n8n-workflow';
import { throwIfAborted, abortReason } from './clock';
import { Failure } from './failure';
import type { EgressCheck } from './socket';

/** Any n8n context that may talk to the service. */
export type ServiceContext = IExecuteFunctions | ILoadOptionsFunctions | ITriggerFunctions;

export const CREDENTIAL_TYPE = 'mediaGenerationApi';

/** The part of Node's readable stream that is used here (node:stream may not be imported). */
export interface ByteStream extends AsyncIterable<Uint8Array> {
	destroy(error?: Error): unknown;
	read(): Uint8Array | null;
	unshift(chunk: Uint8Array): unknown;
	on(event: string, listener: (value: never) => void): unknown;
	once(event: string, listener: (value: never) => void): unknown;
	removeListener(event: string, listener: (value: never) => void): unknown;
	readableEnded?: boolean;
	/** Of a response that comes straight from the socket. */
	socket?: { bytesRead?: number };
}

export interface HttpRequest {
	method: IHttpRequestMethods;
	url: string;
	query?: Record<string, string | number>;
	/** Sent as `application/json`. */
	body?: Buffer;
	accept: string;
	/** Milliseconds until the answer (of a stream: until its headers). */
	timeoutMs: number;
	signal: AbortSignal;
	/** The only origin that gets the token. */
	tokenOrigin: string;
	/** Where redirects are followed to; 'none' and foreign ones come back as the 3xx answer. */
	follow: 'none' | 'sameOrigin' | 'any';
}

export interface HttpAnswer<Body> {
	status: number;
	headers: Record<string, string | undefined>;
	body: Body;
	/** Where the answer came from in the end. */
	url: string;
}

const MAX_REDIRECTS = 10;
/** Largest answer that is read into memory where no file is expected, in bytes. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

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

function codeOf(error: unknown, depth = 0): string {
	if (typeof error !== 'object' || error === null || depth > 4) return '';
	const { code, cause } = error as { code?: unknown; cause?: unknown };
	const inner = codeOf(cause, depth + 1);
	return inner !== '' ? inner : typeof code === 'string' ? code : '';
}

/** What a request to `url` that got no answer failed of. */
export function failureOfConnection(error: unknown, url: string): Failure {
	const code = codeOf(error).toUpperCase();
	const { host } = new URL(url);
	if (code === 'ECONNREFUSED') {
		return new Failure('unreachable', { host, text: 'refused', transient: true });
	}
	if (/^(?:ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)/.test(code)) {
		return new Failure('unreachable', { host, text: 'host', transient: true });
	}
	if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO_VERIFY|EPROTO|ALTNAME/.test(code)) {
		return new Failure('unreachable', { host, text: 'certificate' });
	}
	const name = String((error as Error | undefined)?.name ?? '');
	const message = String((error as Error | undefined)?.message ?? '');
	if (/ssrf|blocked/i.test(`${name} ${message}`)) {
		return new Failure('unreachable', { host, text: 'blocked' });
	}
	return new Failure('noAnswer', { host, transient: true });
}

async function send(context: ServiceContext, request: HttpRequest, url: string): Promise<unknown> {
	const options: IHttpRequestOptions = {
		method: request.method,
		url,
		qs: request.query,
		body: request.body,
		headers: {
			Accept: request.accept,
			...(request.body ? { 'Content-Type': 'application/json' } : {}),
		},
		encoding: 'stream',
		returnFullResponse: true,
		ignoreHttpStatusErrors: true,
		disableFollowRedirect: true,
		sendCredentialsOnCrossOriginRedirect: false,
		timeout: Math.max(1, Math.round(request.timeoutMs)),
		abortSignal: request.signal,
	};
	if (new URL(url).origin !== request.tokenOrigin) {
		return await context.helpers.httpRequest(options);
	}
	return await context.helpers.httpRequestWithAuthentication.call(
		withSignal(context as IExecuteFunctions, request.signal),
		CREDENTIAL_TYPE,
		options,
	);
}

function redirectTarget(request: HttpRequest, answer: HttpAnswer<ByteStream>): string | undefined {
	const { location } = answer.headers;
	if (![301, 302, 303, 307, 308].includes(answer.status) || !location) return undefined;
	if (request.follow === 'none' || !URL.canParse(location, answer.url)) return undefined;
	const target = new URL(location, answer.url);
	if (target.protocol !== 'http:' && target.protocol !== 'https:') return undefined;
	if (request.follow === 'sameOrigin' && target.origin !== request.tokenOrigin) return undefined;
	return target.href;
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
		let response: { statusCode: number; headers: Record<string, string>; body: ByteStream };
		try {
			response = (await send(context, request, url)) as typeof response;
		} catch (error) {
			throw request.signal.aborted ? abortReason(request.signal) : failureOfConnection(error, url);
		}
		const answer = {
			status: response.statusCode,
			headers: response.headers ?? {},
			body: response.body,
			url,
		};
		// A stream without a listener would take the process down when it breaks.
		answer.body.on('error', () => {});
		const target = hop < MAX_REDIRECTS ? redirectTarget(request, answer) : undefined;
		if (target === undefined) return answer;
		answer.body.destroy();
		url = target;
	}
}

/**
 * The whole body as text, at most `maxBytes` bytes of it; the rest is given up. Throws a Failure
 * when the connection breaks on the way.
 */
export async function readText(
	answer: HttpAnswer<ByteStream>,
	signal: AbortSignal,
	maxBytes = MAX_TEXT_BYTES,
): Promise<string> {
	const chunks: Uint8Array[] = [];
	let size = 0;
	try {
		for await (const chunk of answer.body) {
			chunks.push(chunk);
			size += chunk.length;
			if (size >= maxBytes) break;
		}
	} catch {
		throw signal.aborted
			? abortReason(signal)
			: new Failure('noAnswer', { host: new URL(answer.url).host, transient: true });
	}
	throwIfAborted(signal);
	return Buffer.concat(chunks).toString('utf8');
}
