import { createHash } from 'node:crypto';
import { Failure } from '../failure';
import { asText } from '../parsing/values';
import { redactor } from '../parsing/redaction';

/** The name of the credential's type in n8n. Saved workflows contain it, so it must not change. */
export const CREDENTIAL_TYPE = 'mediaGenerationApi';

/** The credential, checked and normalized by `readCredential`. */
export type Credential = ReturnType<typeof readCredential>;

/** What users paste in front of the token when they copy a whole header. */
const BEARER_PREFIX = /^(?:authorization\s*:\s*)?bearer(?:\s+|$)/i;
/** Host names of the machine that n8n runs on. */
const LOOPBACK_HOST = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

/** Returns the Failure for a bad field of the credential. `field` is its display name. */
const invalidCredential = (field: string, reason: string) =>
	new Failure('invalidInput', { field, reason, isInCredential: true });

/** Returns the token (§5) without a pasted “Bearer”. Throws a Failure if it is empty or malformed. */
export function cleanToken(raw: unknown): string {
	const invalidToken = (reason: string) => invalidCredential('API Token', reason);
	const token = (asText(raw) ?? '').replace(BEARER_PREFIX, '').trim();
	if (token === '') throw invalidToken('is empty');
	if (!/^[\x21-\x7e]+$/.test(token)) {
		throw invalidToken(
			'contains a line break, a space or other characters that cannot be part of a token: copy it again, in one piece',
		);
	}
	return token;
}

/** Returns the headers (§5) that tell who sends a request, and so who pays. Throws a Failure if the token is invalid. */
export const readAuthHeaders = ({ apiToken }: Record<string, unknown>): Record<string, string> => ({
	Authorization: `Bearer ${cleanToken(apiToken)}`,
});

/**
 * Returns the URL in a field of the credential. Throws a Failure of kind invalidInput if the URL is not valid. Without
 * `allowHttp`, also throws if the URL is unencrypted and leads to another machine. `schemes` lists the allowed schemes
 * with their colons; messages suggest the first one.
 */
function readUrl(field: string, raw: unknown, schemes: string[], allowHttp: boolean): URL {
	const invalidUrl = (reason: string) => invalidCredential(field, reason);
	const text = asText(raw);
	if (text === undefined) throw invalidUrl('is empty');
	const url = URL.canParse(text) ? new URL(text) : undefined;
	if (!url || !schemes.includes(url.protocol))
		throw invalidUrl(`must be a complete URL, such as ${schemes[0]}//media.example.com`);
	if (url.username + url.password + url.search + url.hash !== '') {
		throw invalidUrl('must not contain a user name, a password, or anything after a "?" or "#"');
	}
	const isEncrypted = /^(?:https|wss):$/.test(url.protocol);
	if (isEncrypted || allowHttp || LOOPBACK_HOST.test(url.hostname)) return url;
	throw invalidUrl(
		`must begin with ${schemes[0]}//: over ${url.protocol}// the API token could be read on the network. On a network that you trust, turn on 'Allow Unencrypted Connection' in the credential`,
	);
}

/** Returns the origin and path of a URL without trailing slashes and without `suffix`. */
const withoutSuffix = ({ origin, pathname }: URL, suffix: RegExp) =>
	origin + pathname.replace(/\/+$/, '').replace(suffix, '').replace(/\/+$/, '');

/** Checks and normalizes the credential. Throws a Failure of kind invalidInput that names the bad field. */
export function readCredential(credential: Record<string, unknown>) {
	const allowHttp = credential.allowHttp === true;
	const parsedBaseUrl = readUrl('Base URL', credential.baseUrl, ['https:', 'http:'], allowHttp);
	const rawWebSocketUrl = asText(credential.webSocketUrl) ?? parsedBaseUrl.origin;
	const schemes = ['wss:', 'ws:', 'https:', 'http:'];
	const parsedWebSocketUrl = readUrl('WebSocket URL', rawWebSocketUrl, schemes, allowHttp);
	parsedWebSocketUrl.protocol = parsedWebSocketUrl.protocol.replace('http', 'ws');
	const apiToken = cleanToken(credential.apiToken);
	const baseUrl = withoutSuffix(parsedBaseUrl, /\/v1$/i);
	const webSocketUrl = withoutSuffix(parsedWebSocketUrl, /\/ws$/i);
	const authHeaders = readAuthHeaders(credential);
	const accountIdentity = JSON.stringify([baseUrl, authHeaders]);
	return {
		/** The token, without “Bearer”. */
		apiToken,
		/** See `readAuthHeaders`. They are sent to the origin only. */
		authHeaders,
		/** The URL of the API, without a trailing slash and without `/v1`. */
		baseUrl,
		origin: parsedBaseUrl.origin,
		/** The URL of the WebSocket server (`{ws_url}` of §6.2), without a trailing slash and without `/ws`. */
		webSocketUrl,
		/** A digest of Base URL and `authHeaders`. It identifies the account without revealing the token. */
		accountKey: createHash('sha256').update(accountIdentity).digest('hex'),
		/** Removes the token from texts that are shown, stored or logged. */
		redact: redactor(apiToken),
	};
}
