import { NodeApiError, NodeOperationError, type INode } from 'n8n-workflow';
import { withoutToken } from '../parsing/redaction';
import { Failure, type FailureKind } from '../failure';
import { asText, clip, isRecord } from '../parsing/coerce';
import { wordingOf } from './messages';

/** The only place that makes n8n errors of failures. */

export interface ErrorPlace {
	node: INode;
	itemIndex?: number;
	apiToken?: string;
	/** Added to the description: what else is worth knowing before a new run. */
	note?: string;
}

const ABOUT_INPUT = new Set<FailureKind>(['invalidInput', 'taskFailed', 'generationFailed']);

/** What n8n needs to tell its own retries apart (n8n from about 2.37 reads it). */
const CAUSES: Partial<Record<FailureKind, string>> = {
	rateLimited: 'rate-limited',
	outOfCredit: 'quota-exhausted',
	unavailable: 'temporarily-unavailable',
	tokenRefused: 'credential-invalid',
};

/** The text of any thrown value. */
function textOf(error: unknown): string {
	const text = asText(isRecord(error) ? error.message : error);
	return clip(text ?? 'Something went wrong in this node that it does not know', 2000);
}

/**
 * Any thrown value as the one n8n error that the user sees: with item number, what happened, and
 * what to do. Errors that n8n made itself (a broken expression, say) keep their words.
 */
export function toNodeError(
	error: unknown,
	{ node, itemIndex, apiToken = '', note }: ErrorPlace,
): NodeApiError | NodeOperationError {
	const withNote = (description?: string | null) =>
		withoutToken([description, note].filter(Boolean).join(' '), apiToken);
	if (error instanceof NodeApiError || error instanceof NodeOperationError) {
		if (itemIndex !== undefined) error.context.itemIndex = itemIndex;
		if (note) error.description = withNote(error.description);
		return error;
	}
	const item = itemIndex === undefined ? '' : ` [item ${itemIndex}]`;
	if (!(error instanceof Failure)) {
		// Only the text is taken over: stack and cause could hold what must not be shown.
		const message = withoutToken(textOf(error), apiToken) + item;
		return new NodeOperationError(node, message, { itemIndex, description: withNote() });
	}
	const words = wordingOf(error);
	const message = withoutToken(words.message, apiToken) + item;
	const description = withNote(words.description);
	const { status } = error.facts;
	const cause = CAUSES[error.kind];
	const made = ABOUT_INPUT.has(error.kind)
		? new NodeOperationError(node, message, { itemIndex, description })
		: new NodeApiError(
				node,
				{ message },
				{
					itemIndex,
					message,
					description,
					httpCode: status === undefined ? undefined : String(status),
					...(cause ? ({ failure: { cause } } as object) : {}),
				},
			);
	// n8n puts its own text in place of messages that happen to contain an error code.
	made.message = message;
	made.description = description;
	return made;
}
