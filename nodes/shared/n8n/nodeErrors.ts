import { NodeApiError, NodeOperationError, type INode } from 'n8n-workflow';
import { redactor, type Redactor } from '../parsing/redaction';
import { Failure, isFailure } from '../failure';
import { asText, truncate, isRecord } from '../parsing/values';
import { rowPrefix, wordingOf } from './messages';

/* Converts failures to n8n errors. */

/** What `toNodeError` needs to know in addition to the error. */
export interface ErrorContext {
	node: INode;
	/** The index of the input item, from 0, if the error is about one item. */
	itemIndex?: number;
	/** The redactor of the credential, if the credential could be read. */
	redact?: Redactor;
	/** What to do before the user follows the description of the error, in sentences. */
	before?: string;
	/** What else was charged, in sentences that follow the description. */
	after?: string;
}

/**
 * Converts a thrown value to the n8n error that the user sees. The token is removed from the texts of the error. An
 * error of n8n itself, such as the one for a bad expression, keeps its message.
 */
export function toNodeError(
	error: unknown,
	{ node, itemIndex, redact = redactor(''), before, after }: ErrorContext,
): NodeApiError | NodeOperationError {
	const withNotes = (description?: string | null) => {
		// Without the space, a user could take the period for a part of the URL before it.
		const sentence = after ? description?.replace(/[^.]$/, '$& .') : description;
		return redact.text([before, sentence, after].filter(Boolean).join(' '));
	};
	if (error instanceof NodeApiError || error instanceof NodeOperationError) {
		if (itemIndex !== undefined) error.context.itemIndex = itemIndex;
		if (before || after) error.description = withNotes(error.description);
		return error;
	}
	// The row is named in the message. The new error gets no item index, because n8n would append it, counted from 0.
	const concernsSeveralItems =
		isFailure(error, 'crashed', 'overBudget', 'selfTrigger') ||
		(error instanceof Failure && (error.facts.itemIndexes?.length ?? 0) > 1);
	const prefix = itemIndex === undefined || concernsSeveralItems ? '' : rowPrefix([itemIndex]);
	if (!(error instanceof Failure)) {
		// Only the message is kept, because the stack and the cause may contain secrets.
		const text = asText(isRecord(error) ? error.message : error);
		const redacted = redact.text(text ?? 'Something unexpected happened in this node');
		const message = prefix + truncate(redacted, 2000);
		return new NodeOperationError(node, message, { description: withNotes() });
	}
	// The token is removed before `wordingOf` truncates some facts, because a truncated token might not be recognized.
	const wording = wordingOf(new Failure(error.kind, redact.value(error.facts)));
	// n8n (2.41) records an execution as canceled if the word “canceled” is in its error.
	const word = isFailure(error, 'canceled') ? 'canceled' : 'cancelled';
	const message = prefix + wording.message.replaceAll('canceled', word);
	const description = withNotes(wording.description);
	const { status } = error.facts;
	const nodeError =
		status === undefined
			? new NodeOperationError(node, message)
			: new NodeApiError(node, { message }, { message, httpCode: String(status) });
	// n8n's constructors replace a message that happens to contain an error code, so both texts are set again.
	nodeError.message = message;
	nodeError.description = description;
	return nodeError;
}
