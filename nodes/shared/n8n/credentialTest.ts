import type {
	ICredentialsDecrypted,
	ICredentialTestFunctions,
	INodeCredentialTestResult,
} from 'n8n-workflow';
import { ACCOUNT_PATH } from '../contract';
import { toWrongBaseUrl, Failure } from '../failure';
import { readCredential, type Credential } from '../http/credential';
import { failureOfConnection } from '../http/request';
import { failureOfStatus, readAnswer } from '../parsing/errors';
import { readRecord } from '../parsing/responses';
import { wordingOf } from './messages';

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
		const failure = error instanceof Failure ? error : new Failure('noResponse');
		const { message, description } = wordingOf(failure);
		// A bad field says enough: nothing was sent, and there is no item.
		const text = failure.kind === 'invalidInput' ? message : `${message}. ${description}`;
		return { status: 'Error', message: text };
	}
}

/** Throws a Failure unless the account can be read. */
async function readAccount(
	context: ICredentialTestFunctions,
	{ apiToken, baseUrl, redact }: Credential,
): Promise<void> {
	const url = baseUrl + ACCOUNT_PATH;
	// n8n offers nothing newer than `request` to a credential test.
	const response: Promise<{ statusCode: number; body: unknown }> = context.helpers.request({
		method: 'GET',
		uri: url,
		headers: { Accept: 'application/json', Authorization: `Bearer ${apiToken}` },
		simple: false,
		resolveWithFullResponse: true,
		followRedirect: false,
		timeout: TEST_MS,
	});
	const { statusCode, body } = await response.catch((error: unknown) => {
		throw failureOfConnection(error, url);
	});
	const text = typeof body === 'string' ? body : JSON.stringify(body ?? '');
	if (statusCode < 200 || statusCode > 299) {
		throw toWrongBaseUrl(failureOfStatus(statusCode, redact.text(text)));
	}
	readAnswer(text, redact, readRecord);
}
