import type {
	ICredentialsDecrypted,
	ICredentialTestFunctions,
	INodeCredentialTestResult,
} from 'n8n-workflow';
import { readCredential, type Credential } from '../http/credential';
import { failureOfStatus, readAnswer } from '../parsing/errorResponses';
import { ACCOUNT_PATH } from '../contract';
import { asWrongAddress, Failure } from '../failure';
import { readErrorBody, readText } from '../http/bodies';
import { failureOfConnection, type ByteStream } from '../http/request';
import { withDeadline } from '../async/deadline';

import { wordingOf } from './messages';
import { isRecord } from '../parsing/coerce';
import type { Redactor } from '../parsing/redaction';

const TEST_MS = 15_000;

/** The credential's test: reads the account (§4.10) and says plainly what is wrong. */
export async function testMediaGenerationApi(
	this: ICredentialTestFunctions,
	credential: ICredentialsDecrypted,
): Promise<INodeCredentialTestResult> {
	try {
		await readAccount(this, readCredential(credential.data ?? {}));
		return { status: 'OK', message: 'The service accepts the token' };
	} catch (error) {
		const failure = error instanceof Failure ? error : new Failure('noAnswer');
		const { message, description } = wordingOf(failure);
		// A bad field says enough: nothing was sent, and there is no item.
		const text = failure.kind === 'invalidInput' ? message : `${message}. ${description}`;
		return { status: 'Error', message: text };
	}
}

/** Throws a Failure unless the account can be read. */
async function readAccount(context: ICredentialTestFunctions, credential: Credential) {
	const { apiToken, redact } = credential;
	const url = credential.baseUrl + ACCOUNT_PATH;
	// n8n offers nothing newer than `request` to a credential test.
	const { request } = context.helpers;
	const { statusCode, body }: { statusCode: number; body: unknown } = await request({
		method: 'GET',
		uri: url,
		headers: { Accept: 'application/json', Authorization: `Bearer ${apiToken}` },
		simple: false,
		resolveWithFullResponse: true,
		useStream: true,
		followRedirect: false,
		timeout: TEST_MS,
	}).catch((error: unknown) => {
		throw failureOfConnection(error, url);
	});
	const isGood = statusCode >= 200 && statusCode < 300;
	const text = isStream(body)
		? await readBody(body, statusCode, url, redact)
		: typeof body === 'string'
			? body
			: JSON.stringify(body ?? '');
	if (!isGood) throw asWrongAddress(failureOfStatus(statusCode, redact.text(text)));
	const account = readAnswer(text, redact);
	if (!isRecord(account)) throw new Failure('notTheService');
}

const isStream = (body: unknown): body is ByteStream =>
	typeof (body as ByteStream | undefined)?.destroy === 'function';

/** The body of the answer, in bounded size and time. */
async function readBody(
	body: ByteStream,
	status: number,
	url: string,
	redact: Redactor,
): Promise<string> {
	const close = () => void body.destroy();
	const answer = { status, headers: {}, body, url, redact, close };
	body.on('error', () => {});
	const read = async (signal: AbortSignal) => {
		signal.addEventListener('abort', close, { once: true });
		return await (status < 300 ? readText : readErrorBody)(answer, signal);
	};
	return await withDeadline(TEST_MS, undefined, read).catch((error: Failure) => {
		throw error.kind === 'timedOut' ? failureOfConnection(error, url) : error;
	});
}
