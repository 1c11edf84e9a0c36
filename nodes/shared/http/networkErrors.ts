import { Failure } from '../failure';

/** Why a connection failed. Pure. */

/** The code of an error's innermost cause, such as ECONNRESET; '' if there is none. */
export function codeOf(error: unknown, depth = 0): string {
	if (typeof error !== 'object' || error === null || depth > 4) return '';
	const { code, cause } = error as { code?: unknown; cause?: unknown };
	const inner = codeOf(cause, depth + 1);
	return inner !== '' ? inner : typeof code === 'string' ? code : '';
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
	if (/CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO_VERIFY|EPROTO|ALTNAME/.test(code)) {
		return unreachable('certificate');
	}
	const { name = '', message = '' } = (error ?? {}) as Partial<Error>;
	if (/ssrf|blocked/i.test(`${name} ${message}`)) return unreachable('blocked');
	return new Failure('noAnswer', { host, transient: true });
}
