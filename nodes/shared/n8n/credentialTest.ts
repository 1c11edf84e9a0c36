import type {
	ICredentialsDecrypted,
	ICredentialTestFunctions,
	INodeCredentialTestResult,
} from 'n8n-workflow';
import { FREE_PATHS } from '../contract';
import { toFailure, toWrongBaseUrl, withDefaultFacts } from '../failure';
import { readCredential, type Credential } from '../http/credential';
import {
	egressCheck,
	failureOfConnection,
	redirectOrigin,
	type HttpResponse,
	type ServiceContext,
} from '../http/request';
import { failureOfStatus, parseResponseBody } from '../parsing/errors';
import { readSuccessRecord } from '../parsing/responses';
import { asText } from '../parsing/values';
import { AccountSocket, hasWebSocket } from '../speech/accountSocket';
import { wordingOf } from './messages';

/** How long the response may take, in ms. */
const TEST_TIMEOUT_MS = 15_000;

/** Tests a credential by reading the account (§4.10) and opening the WebSocket (§6.2). Never rejects. */
export async function testMediaGenerationApi(
	this: ICredentialTestFunctions,
	credential: ICredentialsDecrypted,
): Promise<INodeCredentialTestResult> {
	try {
		const values = readCredential(credential.data ?? {});
		await readAccount(this, values);
		const message = 'The service accepts the token';
		if (!hasWebSocket() || (await canOpenSocket(this, values))) return { status: 'OK', message };
		// Without the WebSocket, every operation still works, and only the trigger detects less, so the credential is fine.
		// But a URL that was entered is wrong, and n8n's editor shows the message of an Error only.
		const isEntered = asText(credential.data?.webSocketUrl) !== undefined;
		return {
			status: isEntered ? 'Error' : 'OK',
			message: `${message}, but the WebSocket can't be opened: results come by polling, and of speech tasks, the trigger detects only those in 'Task IDs'. Check 'WebSocket URL'`,
		};
	} catch (error) {
		const failure = toFailure(error);
		const { message, description } = wordingOf(failure);
		// The description only says to correct the field in the credential, which the user has open anyway.
		const text = failure.kind === 'invalidInput' ? message : `${message}. ${description}`;
		return { status: 'Error', message: text };
	}
}

/** Returns true if the WebSocket opens within a few seconds. */
async function canOpenSocket(context: ICredentialTestFunctions, credential: Credential) {
	// n8n's rules for outgoing requests are not known here, so the socket is not shared with executions.
	const check = egressCheck(context as unknown as ServiceContext);
	const socket = new AccountSocket(credential, check).acquire();
	await socket.ready();
	const { isOpen } = socket;
	void socket.release();
	return isOpen;
}

/** Reads the account. Throws a Failure if the request fails or its response is not an account. */
async function readAccount(
	context: ICredentialTestFunctions,
	{ authHeaders, baseUrl, redact }: Credential,
): Promise<void> {
	const url = baseUrl + FREE_PATHS.account;
	// The deprecated `request` is the only request helper that n8n offers to a credential test.
	const response: Promise<Pick<HttpResponse, 'headers'> & { statusCode: number; body: unknown }> =
		context.helpers.request({
			method: 'GET',
			uri: url,
			headers: { Accept: 'application/json', ...authHeaders },
			simple: false,
			resolveWithFullResponse: true,
			followRedirect: false,
			timeout: TEST_TIMEOUT_MS,
		});
	const { statusCode, headers, body } = await response.catch((error: unknown) => {
		throw failureOfConnection(error, url);
	});
	const text = typeof body === 'string' ? body : JSON.stringify(body ?? '');
	if (statusCode < 200 || statusCode > 299) {
		const failure = toWrongBaseUrl(failureOfStatus(statusCode, redact.text(text)));
		throw withDefaultFacts(failure, { host: redirectOrigin(headers.location, url) });
	}
	parseResponseBody(text, redact, readSuccessRecord);
}
