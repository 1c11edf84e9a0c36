import type { IExecuteFunctions } from 'n8n-workflow';
import { Failure } from '../../shared/failure';
import { wordingOf } from '../../shared/n8n/messages';

/** What an attempt met that got no clear answer, for the next one: "HTTP 502 at 14:03". */
export function encounterOf(error: unknown, context: IExecuteFunctions): string {
	const failure = error instanceof Failure ? error : new Failure('noAnswer');
	const { status } = failure.facts;
	const what = status === undefined ? wordingOf(failure).message : `HTTP ${status}`;
	const time = new Date().toLocaleTimeString('en-GB', {
		hour: '2-digit',
		minute: '2-digit',
		timeZone: context.getTimezone(),
	});
	return `${what} at ${time}`;
}
