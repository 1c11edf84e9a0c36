import type {
	IExecuteFunctions,
	IHttpRequestMethods,
	IHttpRequestOptions,
	ILoadOptionsFunctions,
	ITriggerFunctions,
} from 'n8n-workflow';
import { abortReason, anySignal, SILENT_ABORT, throwIfAborted } from '../async/deadline';
import type { Credential } from './credential';
import { Failure } from '../failure';
import { MAX_REDIRECTS } from '../limits';
import { asWebUrl } from '../parsing/values';
import type { Redactor } from '../parsing/redaction';

/** Any n8n context that may talk to the service. */
export type ServiceContext = IExecuteFunctions | ILoadOptionsFunctions | ITriggerFunctions;

export const CREDENTIAL_TYPE = 'mediaGenerationApi';

/** How a signed address may answer a request that also bears a token. */
const TOKEN_CONFLICT_STATUSES = [400, 401, 403];

/** Node's readable stream (node:stream may not be imported, not even its types). */
export type ByteStream = Exclude<
	Parameters<IExecuteFunctions['helpers']['prepareBinaryData']>[0],
	Buffer
>;

export interface HttpRequest {
	method: IHttpRequestMethods;
	url: string;
	query?: Record<string, string | number>;
	/** Sent as `application/json`. */
	body?: Buffer;
	accept: string;
	/** A file: asked for uncompressed, so that its size is known, and again without a token it refuses. */
	isFile?: boolean;
	/** Milliseconds until the answer's headers. */
	timeoutMs: number;
	signal: AbortSignal;
	/** Its token goes to its origin, and nowhere else. */
	credential: Credential;
}

export interface HttpResponse {
	status: number;
	headers: Record<string, string | undefined>;
	body: ByteStream;
	/** Where the answer came from in the end. */
	url: string;
	redact: Redactor;
	/** Ends the connection and gives up what was not read. */
	close(): void;
}

/**
 * Asks the egress policy of the instance before a socket is opened beside n8n's request helper.
 * Throws a Failure when it forbids the address.
 */
export async function checkEgress(context: ServiceContext, url: string): Promise<void> {
	// Exists since about n8n 2.30; allows everything if no policy is set.
	const filter = (context as IExecuteFunctions).helpers.getSecureEgressFilter?.();
	const result = await filter?.validateUrl(url);
	if (result && !result.ok) {
		throw new Failure('unreachable', { host: new URL(url).host, text: 'blocked' });
	}
}

/** The code of an error's innermost cause, such as ECONNRESET; '' if there is none. */
export function codeOf(error: unknown, depth = 0): string {
	if (typeof error !== 'object' || error === null || depth > 4) return '';
	const { code, cause } = error as { code?: unknown; cause?: unknown };
	return codeOf(cause, depth + 1) || (typeof code === 'string' ? code : '');
}

/** The Failure of a request to `url` that got no answer. */
export function failureOfConnection(error: unknown, url: string): Failure {
	const code = codeOf(error).toUpperCase();
	const { host } = new URL(url);
	const unreachable = (text: string, transient?: true) =>
		new Failure('unreachable', { host, text, transient });
	if (code === 'ECONNREFUSED') return unreachable('refused', true);
	if (/^(?:ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)/.test(code)) {
		return unreachable('host', true);
	}
	if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO_VERIFY|EPROTO/.test(code)) {
		return unreachable('certificate');
	}
	const { name = '', message = '' } = (error ?? {}) as Partial<Error>;
	if (/ssrf|blocked/i.test(`${name} ${message}`)) return unreachable('blocked');
	return new Failure('noResponse', { host, transient: true });
}

/** Where a request is redirected to; undefined if nowhere, or to where it may not go. */
function redirectTarget(request: HttpRequest, answer: HttpResponse): string | undefined {
	const { location } = answer.headers;
	if (![301, 302, 303, 307, 308].includes(answer.status) || !location) return undefined;
	const target = asWebUrl(location, answer.url);
	const isSameOrigin = request.method === 'GET' && target?.origin === request.credential.origin;
	return request.isFile || isSameOrigin ? target?.href : undefined;
}

/**
 * Sends one request, without following redirects. The token is added here, as it was when the
 * execution began. n8n's own way (2.41) decrypts and resolves the credential for each request: up to
 * 3 ms of its only thread, and outside an execution an isolate, which takes 20 to 60 ms and memory
 * that is never freed. It would also replace the signal by the execution's own, and repeat a request
 * that gets a 401.
 */
async function sendOnce(
	context: ServiceContext,
	request: HttpRequest,
	url: string,
	bearsToken: boolean,
): Promise<HttpResponse> {
	throwIfAborted(request.signal);
	const { apiToken, redact } = request.credential;
	const closing = new AbortController();
	const options: IHttpRequestOptions = {
		method: request.method,
		url,
		qs: request.query,
		body: request.body,
		headers: {
			Accept: request.accept,
			...(request.body ? { 'Content-Type': 'application/json' } : {}),
			...(request.isFile ? { 'Accept-Encoding': 'identity' } : {}),
			...(bearsToken ? { Authorization: `Bearer ${apiToken}` } : {}),
		},
		encoding: 'stream',
		returnFullResponse: true,
		ignoreHttpStatusErrors: true,
		disableFollowRedirect: true,
		sendCredentialsOnCrossOriginRedirect: false,
		timeout: request.timeoutMs,
		abortSignal: anySignal(request.signal, closing.signal),
	};
	const sent: Promise<{ statusCode: number; headers: Record<string, string>; body: ByteStream }> =
		context.helpers.httpRequest(options);
	const { statusCode, headers, body } = await sent.catch((error: unknown) => {
		closing.abort(SILENT_ABORT);
		throw request.signal.aborted ? abortReason(request.signal) : failureOfConnection(error, url);
	});
	// Without a listener, a broken stream would take the process down.
	body.on('error', () => {});
	return {
		status: statusCode,
		headers,
		body,
		url,
		redact,
		close() {
			// Destroying the stream alone can leave its connection open.
			closing.abort(SILENT_ABORT);
			body.destroy();
		},
	};
}

/** Throws a Failure for an address elsewhere that has the token in it, whoever has put it there. */
function refuseTokenIn(url: string, { origin, redact }: Credential): void {
	if (new URL(url).origin === origin || redact.text(url) === url) return;
	throw new Failure('downloadFailed', {
		text: 'its address, on another host, contains the API token',
	});
}

/**
 * One HTTP exchange through n8n's request helper; the body comes as a stream, whatever the status.
 * Redirects are followed within the credential's origin by a GET and anywhere by a file; others come
 * back as the 3xx answer. The token goes to that origin only, also where an address contains it. Throws
 * a Failure when there is no answer, or the reason of `signal` when that aborts.
 */
export async function sendRequest(
	context: ServiceContext,
	request: HttpRequest,
): Promise<HttpResponse> {
	let { url } = request;
	for (let hop = 0; ; hop++) {
		refuseTokenIn(url, request.credential);
		const bearsToken = new URL(url).origin === request.credential.origin;
		let answer = await sendOnce(context, request, url, bearsToken);
		if (bearsToken && request.isFile && TOKEN_CONFLICT_STATUSES.includes(answer.status)) {
			answer.close();
			answer = await sendOnce(context, request, url, false);
		}
		const target = hop < MAX_REDIRECTS ? redirectTarget(request, answer) : undefined;
		if (target === undefined) return answer;
		answer.close();
		url = target;
	}
}
