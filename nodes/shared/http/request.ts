import type {
	IExecuteFunctions,
	IHttpRequestMethods,
	ILoadOptionsFunctions,
	ITriggerFunctions,
} from 'n8n-workflow';
import { abortReason, linkedController, SILENT_ABORT, throwIfAborted } from '../async/deadline';
import type { Credential } from './credential';
import type { FreeableBody } from './freeableBody';
import { Failure, type UnreachableCause } from '../failure';
import { MAX_REDIRECTS } from '../limits';
import { asWebUrl, isRecord } from '../parsing/values';
import type { Redactor } from '../parsing/redaction';

/** The n8n contexts that can send requests to the service. */
export type ServiceContext = IExecuteFunctions | ILoadOptionsFunctions | ITriggerFunctions;

/** Statuses with which a host may refuse a signed URL because the request also carries a token. */
const TOKEN_CONFLICT_STATUSES = [400, 401, 403];

/** Node's readable stream. n8n's package scan forbids importing `node:stream`, even its types. */
export type ByteStream = Exclude<
	Parameters<IExecuteFunctions['helpers']['prepareBinaryData']>[0],
	Buffer
>;

/** A request to the service, or to the host of a file. */
export interface HttpRequest {
	method: IHttpRequestMethods;
	url: string;
	query?: Record<string, string | number>;
	/** The body, sent as `application/json`. */
	body?: Buffer | FreeableBody;
	accept: string;
	/** True for the download of a file: redirects to any host are followed, and the file is requested uncompressed. */
	isFile?: boolean;
	/** How long the headers of the response may take, in ms. */
	timeoutMs: number;
	signal: AbortSignal;
	/** The token of this credential is sent to the credential's origin only. */
	credential: Credential;
}

/** The response to a request. The caller must call `close` when it no longer needs the response. */
export interface HttpResponse {
	status: number;
	headers: Record<string, string | undefined>;
	body: ByteStream;
	/** The URL that sent the response, after any redirects. */
	url: string;
	/** Removes the token from texts of this response. */
	redact: Redactor;
	/** Closes the connection and discards what was not read. It may be called more than once. */
	close(): void;
}

/** Returns a function that throws a Failure if n8n's rules for outgoing requests forbid a URL. */
export function egressCheck(context: ServiceContext): (url: string) => Promise<void> {
	// The method exists since about n8n 2.30. Without it, every URL is accepted.
	const filter = (context as IExecuteFunctions).helpers.getSecureEgressFilter?.();
	return async (url) => {
		const result = await filter?.validateUrl(url);
		if (result && !result.ok)
			throw new Failure('unreachable', { host: new URL(url).host, unreachableCause: 'blocked' });
	};
}

/** The maximum number of causes of an error that are searched for a code. An error may be its own cause. */
const MAX_CAUSES = 4;

/**
 * Returns the code of an error's innermost cause that has one, such as ECONNRESET; otherwise ''. Looks at no more than
 * `causesLeft` causes.
 */
export function codeOf(error: unknown, causesLeft = MAX_CAUSES): string {
	if (!isRecord(error) || causesLeft < 0) return '';
	const { code, cause } = error;
	return codeOf(cause, causesLeft - 1) || (typeof code === 'string' ? code : '');
}

/** Returns the Failure for a request to `url` that got no response, chosen by the code or the message of `error`. */
export function failureOfConnection(error: unknown, url: string): Failure {
	const code = codeOf(error).toUpperCase();
	const { host } = new URL(url);
	const unreachableFailure = (unreachableCause: UnreachableCause, transient?: true) =>
		new Failure('unreachable', { host, unreachableCause, transient });
	if (code === 'ECONNREFUSED') return unreachableFailure('refused', true);
	if (code === 'ENOTFOUND') return unreachableFailure('unknownHost', true);
	if (/^(?:EAI_|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)/.test(code)) {
		return unreachableFailure('host', true);
	}
	if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO_VERIFY|EPROTO/.test(code)) {
		return unreachableFailure('certificate');
	}
	const { name = '', message = '' } = (error ?? {}) as Partial<Error>;
	if (/ssrf|blocked/i.test(`${name} ${message}`)) return unreachableFailure('blocked');
	return new Failure('noResponse', { host, transient: true });
}

/** Returns the origin of another host to which a response from `url` redirects; undefined if there is none. */
export function redirectOrigin(location: string | undefined, url: string): string | undefined {
	const target = asWebUrl(location ?? '', url);
	return target?.origin === new URL(url).origin ? undefined : target?.origin;
}

/** Returns the URL that a response redirects to; undefined if there is none, or if the request must not follow it. */
function redirectTarget(request: HttpRequest, response: HttpResponse): string | undefined {
	const { location } = response.headers;
	if (![301, 302, 303, 307, 308].includes(response.status) || !location) return undefined;
	const target = asWebUrl(location, response.url);
	// With 307 and 308, the server has done nothing yet, and asks for the same request at another URL (RFC 9110,
	// sections 15.4.8 and 15.4.9).
	const isSameRequest = request.method === 'GET' || [307, 308].includes(response.status);
	const isFollowed = isSameRequest && target?.origin === request.credential.origin;
	return request.isFile || isFollowed ? target?.href : undefined;
}

/**
 * Sends one request, without following redirects. Adds the token itself, because n8n's helper for authenticated
 * requests (n8n 2.41) is slower and repeats a request that gets a 401. Throws a Failure if there is no response.
 */
async function sendOnce(
	context: ServiceContext,
	request: HttpRequest,
	url: string,
	bearsToken: boolean,
): Promise<HttpResponse> {
	throwIfAborted(request.signal);
	const { authHeaders, redact } = request.credential;
	const closing = linkedController(request.signal);
	const requestHeaders: Record<string, string> = { Accept: request.accept };
	if (bearsToken) Object.assign(requestHeaders, authHeaders);
	if (request.body) requestHeaders['Content-Type'] = 'application/json';
	if (request.isFile) requestHeaders['Accept-Encoding'] = 'identity';
	const response: Promise<{ statusCode: number } & Pick<HttpResponse, 'headers' | 'body'>> =
		context.helpers.httpRequest({
			method: request.method,
			url,
			qs: request.query,
			body: request.body,
			headers: requestHeaders,
			encoding: 'stream',
			returnFullResponse: true,
			ignoreHttpStatusErrors: true,
			disableFollowRedirect: true,
			sendCredentialsOnCrossOriginRedirect: false,
			timeout: request.timeoutMs,
			abortSignal: closing.signal,
		});
	const { statusCode, headers, body } = await response.catch((error: unknown) => {
		closing.abort(SILENT_ABORT);
		throw request.signal.aborted ? abortReason(request.signal) : failureOfConnection(error, url);
	});
	// Without a listener, an error of the stream would end the n8n process.
	body.on('error', () => {});
	return {
		status: statusCode,
		headers,
		body,
		url,
		redact,
		close() {
			// If only the stream were destroyed, its connection might stay open.
			closing.abort(SILENT_ABORT);
			body.destroy();
		},
	};
}

/** Throws a Failure if `url` contains the token and leads to another origin than the credential's. */
function throwIfTokenWouldLeak(url: string, { origin, redact }: Credential): void {
	if (new URL(url).origin === origin || redact.text(url) === url) return;
	throw new Failure('downloadFailed', {
		reason:
			'the URL contains the API token but points to another host, so the node does not open it',
	});
}

/**
 * Sends a request through n8n's request helper. Within the credential's origin, follows redirects of GET requests, and
 * 307 and 308 of others; redirects of a file are followed to any host. Resolves with the response even if it has an error
 * status. The caller must close the response. The token is sent to the credential's origin only. Throws a Failure if
 * there is no response, if a URL would take the token to another origin, or if `signal` aborts.
 */
export async function sendRequest(
	context: ServiceContext,
	request: HttpRequest,
): Promise<HttpResponse> {
	let { url, query } = request;
	for (let redirectCount = 0; ; redirectCount++) {
		throwIfTokenWouldLeak(url, request.credential);
		const bearsToken = new URL(url).origin === request.credential.origin;
		let response = await sendOnce(context, { ...request, query }, url, bearsToken);
		if (bearsToken && request.isFile && TOKEN_CONFLICT_STATUSES.includes(response.status)) {
			response.close();
			response = await sendOnce(context, { ...request, query }, url, false);
		}
		const target = redirectCount < MAX_REDIRECTS ? redirectTarget(request, response) : undefined;
		if (target === undefined) return response;
		response.close();
		url = target;
		// Most targets contain the query of the request, which must not be sent twice.
		if (new URL(target).search !== '') query = undefined;
	}
}
