import { NodeApiError, NodeOperationError, type INode } from 'n8n-workflow';
import { redactor, type Redactor } from '../parsing/redaction';
import { Failure } from '../failure';
import { asText, truncate, isRecord } from '../parsing/values';
import { rowsOf, wordingOf } from './messages';

/** The only place that turns failures into n8n errors. */

export interface ErrorContext {
	node: INode;
	/** The item that it is about, where the node has several. */
	itemIndex?: number;
	/** Of the credential, if one could be read. */
	redact?: Redactor;
	/** Put behind the description: what else is paid. */
	note?: string;
}

/**
 * The n8n error that the user sees for any thrown value: what happened, in which row, and what to do.
 * n8n's own errors (a broken expression, say) keep their words.
 */
export function toNodeError(
	error: unknown,
	{ node, itemIndex, redact = redactor(''), note }: ErrorContext,
): NodeApiError | NodeOperationError {
	const withNote = (description?: string | null) => {
		// An address at the end must not take up a full stop.
		const cure = note ? description?.replace(/[^.]$/, '$& .') : description;
		return redact.text([cure, note].filter(Boolean).join(' '));
	};
	if (error instanceof NodeApiError || error instanceof NodeOperationError) {
		if (itemIndex !== undefined) error.context.itemIndex = itemIndex;
		if (note) error.description = withNote(error.description);
		return error;
	}
	// n8n is not told the item: it would add its number, counted from 0.
	const isTogether =
		error instanceof Failure &&
		(error.kind === 'overBudget' || (error.facts.items?.length ?? 0) > 1);
	const row = itemIndex === undefined || isTogether ? '' : ` (${rowsOf([itemIndex])})`;
	if (!(error instanceof Failure)) {
		// Only the text is kept: stack and cause may hold secrets.
		const text = asText(isRecord(error) ? error.message : error);
		const redacted = redact.text(text ?? 'An unexpected error occurred in this node');
		const message = truncate(redacted, 2000) + row;
		return new NodeOperationError(node, message, { description: withNote() });
	}
	// The words cut some of the facts: half a token would not be found.
	const words = wordingOf(new Failure(error.kind, redact.value(error.facts)));
	const message = words.message + row;
	const description = withNote(words.description);
	const options = { message, description };
	const { status } = error.facts;
	const nodeError =
		status === undefined
			? new NodeOperationError(node, message, options)
			: new NodeApiError(node, { message }, { ...options, httpCode: String(status) });
	// n8n replaces messages that happen to contain an error code.
	nodeError.message = message;
	nodeError.description = description;
	return nodeError;
}
