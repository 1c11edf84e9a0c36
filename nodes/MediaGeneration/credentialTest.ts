import type {
	ICredentialsDecrypted,
	ICredentialTestFunctions,
	INodeCredentialTestResult,
} from 'n8n-workflow';
import { readAddress, withoutToken } from '../service/address';
import { failureOfStatus, readAnswer } from '../service/answers';
import { asWrongAddress, Failure } from '../service/failure';
import { failureOfConnection } from '../service/connection';
import { wordingOf } from '../service/nodeErrors';
import { isRecord } from '../service/values';
import { ACCOUNT_PATH } from '../service/requests';

const TEST_MS = 15_000;

/** The test button of the credential: reads the account (§4.10) and says plainly what is wrong. */
export async function testMediaGenerationApi(
	this: ICredentialTestFunctions,
	credential: ICredentialsDecrypted,
): Promise<INodeCredentialTestResult> {
	let apiToken = '';
	try {
		const address = readAddress(credential.data ?? {});
		apiToken = address.apiToken;
		await readAccount(this, address.baseUrl, apiToken);
		return { status: 'OK', message: 'The service accepts the token' };
	} catch (error) {
		const failure = error instanceof Failure ? error : new Failure('noAnswer');
		const { message, description } = wordingOf(failure);
		// A bad field says all by itself: nothing was sent, and there is no item.
		const text = failure.kind === 'invalidInput' ? message : `${message}. ${description}`;
		return { status: 'Error', message: withoutToken(text, apiToken) };
	}
}

async function readAccount(context: ICredentialTestFunctions, baseUrl: string, apiToken: string) {
	const url = baseUrl + ACCOUNT_PATH;
	// n8n offers nothing newer than `request` to a credential test.
	const { request } = context.helpers;
	const answer: { statusCode: number; headers: Record<string, string>; body: unknown } =
		await request({
			method: 'GET',
			uri: url,
			headers: { Accept: 'application/json', Authorization: `Bearer ${apiToken}` },
			simple: false,
			resolveWithFullResponse: true,
			followRedirect: false,
			timeout: TEST_MS,
		}).catch((error: unknown) => {
			throw failureOfConnection(error, url);
		});
	const body = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? '');
	if (answer.statusCode < 200 || answer.statusCode >= 300) {
		throw asWrongAddress(failureOfStatus(answer.statusCode, body));
	}
	const account = readAnswer(body, () => false);
	if (!isRecord(account)) throw new Failure('notTheService');
}
