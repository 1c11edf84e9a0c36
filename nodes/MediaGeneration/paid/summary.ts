import { MEDIA, type MediaKind } from '../../shared/contract';
import { Failure, type FailureKind, type ErrorMeaning } from '../../shared/failure';
import { howToCheckFor, listFirst, nameRows } from '../../shared/n8n/messages';
import type { ErrorContext } from '../../shared/n8n/nodeErrors';
import type { JournalValue } from './journalStore';

/** The journal's value for a create call, with the index of its input item. */
export type ItemRequest = JournalValue & { index: number };

/** The kinds and the meanings of failures that are not about the item: once the cause is gone, a retry can succeed. */
const CAUSES_OUTSIDE_OF_ITEM = new Set<FailureKind | ErrorMeaning | undefined>([
	'outOfCredit',
	'tokenRefused',
	'crashed',
	'overBudget',
	'timedOut',
	'unreachable',
	'noResponse',
	'unavailable',
	'foreignServer',
	'redirected',
	'credit',
	'quota',
	'throttled',
	'token',
]);

/** Returns the kind of media that the requests of a run are for. A node has one operation, so it is the same for all. */
function kindOf(requests: ItemRequest[]): MediaKind {
	const [first] = requests;
	return first && 'request' in first ? first.request.kind : 'speech';
}

/** Returns the service's ids of a request's results, or else their URLs; empty if neither is known. */
function namesOf(itemRequest: ItemRequest): string[] {
	if ('taskId' in itemRequest) return [itemRequest.taskId];
	if (!('request' in itemRequest)) return [];
	const { files, announcedIds, failedIds } = itemRequest.request;
	const names = new Set([...files.map(({ id, fileUrl }) => id ?? fileUrl), ...announcedIds]);
	return [...names].filter((name) => !failedIds.includes(name) && !/^data:/.test(name));
}

/**
 * Lists the results of requests for the user, by the service's ids, or else by URL or row: `videos v1, v2; video of row
 * 3`. Lists at most `max` results of each kind (see `listFirst`).
 */
function listResults(requests: ItemRequest[], max?: number): string {
	const kind = kindOf(requests);
	const names = requests.flatMap(namesOf);
	const unnamed = requests.filter((request) => namesOf(request).length === 0);
	const rows = [...new Set(unnamed.map(({ index }) => index))];
	const noun = (count: number) => (count === 1 ? kind : MEDIA[kind].plural);
	const namedNoun = kind === 'speech' ? `task${names.length === 1 ? '' : 's'}` : noun(names.length);
	return joinTexts(
		'; ',
		names.length > 0 && `${namedNoun} ${listFirst(names, max)}`,
		rows.length > 0 && `${noun(rows.length)} of ${nameRows(rows, max)}`,
	);
}

/** Splits requests into those that were charged, and those that may have been. A task that is gone is in neither. */
const splitByCharge = (requests: ItemRequest[]) => ({
	charged: requests.filter(({ state }) => state !== 'gone' && state !== 'sent'),
	indeterminate: requests.filter(({ state }) => state === 'sent'),
});

/** Says which requests may have been charged. `max`: see `listFirst`. */
const indeterminateSentence = (requests: ItemRequest[], max?: number): string =>
	`Possibly charged (not confirmed by the service): ${listResults(requests, max)}.`;

/** What the summaries need to know about the execution. */
export interface ExecutionFacts {
	/** True in a sub-workflow: a retry of the calling workflow runs it anew, and is charged in full. */
	isSubWorkflow?: boolean;
	/** True if this execution is itself a retry: n8n then still offers to retry the earlier execution, too. */
	isRetry?: boolean;
	/** True if a node after this one leads back to it. */
	isInLoop?: boolean;
	/** How many items the run has; 1 if not set. */
	itemCount?: number;
	/** True if this or another node has sent billable requests in an earlier run of this execution. */
	hasEarlierRequests?: boolean;
	/** True if the node has Retry On Fail. */
	retriesOnFail?: boolean;
}

/** Says what the numbers of rows mean in a round of a loop that has several of them. */
const rowsSentence = ({ isInLoop, itemCount = 1 }: ExecutionFacts) =>
	isInLoop && itemCount > 1 && 'Rows are counted within this round of the loop.';

/**
 * Describes for the user which results of a canceled run were or may have been charged, and how to get them; undefined
 * if there are none. `requests`: the requests of all items, in order.
 */
export function canceledSummary(
	requests: ItemRequest[],
	execution: ExecutionFacts = {},
): string | undefined {
	const { charged, indeterminate } = splitByCharge(requests);
	const mediaKind = kindOf(requests);
	const wayToGet =
		mediaKind === 'speech'
			? "the audio with Speech → Collect ('Join Into One File' turned off)"
			: `the ${MEDIA[mediaKind].plural} in half an hour with History → Get Many`;
	const isAnyCharged = charged.length + indeterminate.length > 0;
	return joinSentences(
		charged.length > 0 &&
			`Get ${wayToGet}, at no extra charge. Already paid for: ${listResults(charged, Infinity)}.`,
		indeterminate.length > 0 &&
			`${indeterminateSentence(indeterminate, Infinity)} To find out, ${howToCheckFor(mediaKind)}.`,
		isAnyCharged && 'Then run only the rows without a result: a new run would charge all rows.',
		isAnyCharged && rowsSentence(execution),
	);
}

/**
 * Describes for the user which results of a run that an item has ended were or may have been charged, and how to get
 * them. The results of the failed item are left out. `before` and `after` go before and after the description of the
 * failure; each is undefined if there is nothing to say.
 *
 * @param requests the requests of all items, in order
 * @param failed the failure that ended the run, and the index of its item
 */
export function chargeSummary(
	requests: ItemRequest[],
	failed: { index: number; error: unknown },
	execution: ExecutionFacts = {},
): Pick<ErrorContext, 'before' | 'after'> {
	const { isSubWorkflow, isRetry, isInLoop, hasEarlierRequests, retriesOnFail } = execution;
	const ownRequests = requests.filter(({ index }) => index === failed.index);
	const failedItemRequests = ownRequests.filter(({ state }) => state !== 'gone');
	// The next attempt replaces a task that is gone, and a failed generation, which has no value in the journal any more.
	const isTaskGone = failedItemRequests.length < ownRequests.length;
	const { charged: chargedRequests, indeterminate: indeterminateRequests } = splitByCharge(
		requests.filter(({ index }) => index !== failed.index),
	);
	const { kind, facts }: Partial<Failure> = failed.error instanceof Failure ? failed.error : {};
	const isUnknownTaskReplaced = kind === 'notFound' && isTaskGone;
	// A failed generation has been charged, and so is the next one. A refused request costs nothing.
	const isChargedEachTime =
		(kind === 'taskFailed' && isTaskGone) ||
		(kind === 'generationFailed' && failedItemRequests.length === 0);
	// A retry does not send a request again if its outcome is indeterminate, so the item will probably fail again.
	const isIndeterminate =
		kind === 'indeterminate' || failedItemRequests.some(({ state }) => state === 'sent');
	const isCauseOutside =
		CAUSES_OUTSIDE_OF_ITEM.has(kind) ||
		CAUSES_OUTSIDE_OF_ITEM.has(facts?.meaning) ||
		facts?.transient === true ||
		// The next retry creates a new task.
		isUnknownTaskReplaced;
	const failsAgain = isIndeterminate || !isCauseOutside;
	const mustSkipItem = failsAgain && chargedRequests.length > 0;
	const hasCollectableResults =
		chargedRequests.length > 0 || (failedItemRequests.length > 0 && !isIndeterminate);
	const chargedItemCount = new Set(chargedRequests.map(({ index }) => index)).size;
	// Only the list of the sub-workflow's own executions offers its retry.
	const executions = isSubWorkflow ? "the sub-workflow's Executions" : 'Executions';
	// If both branches lead directly to the loop, n8n runs it twice per round, and so repeats the nodes after it.
	const errorOutput = `'Continue (using error output)'${isInLoop ? ', connect both branches to a Merge node, and only this back to the loop' : ''}`;
	// A retry of a changed node is charged for all rows.
	const howToRetry = failsAgain
		? `If you change nothing in this node, 'Retry with currently saved workflow' under ${executions} is charged only for what is missing.`
		: `To continue, open ${executions} and choose 'Retry with currently saved workflow': with nothing else changed, only what is missing is charged.`;
	// A user who first corrected the row would change parameters, so that the retry would be charged for all rows. If
	// the outcome is indeterminate, the description advises no correction.
	const adviceComesFirst = mustSkipItem && !isIndeterminate;
	// If only some parts of a long text are paid for, the whole text still has to be requested.
	const isPaid = failedItemRequests.length > 0 && !facts?.isIncomplete;
	const whatToDo = joinSentences(
		mustSkipItem
			? `${adviceComesFirst ? 'First get the other rows:' : 'To get the other rows,'} change only On Error (Settings) to ${errorOutput}, save, and choose 'Retry with currently saved workflow' under ${executions}.`
			: howToRetry,
		adviceComesFirst && isPaid && 'This row is paid for, too.',
	);
	const hasOnlyEarlierResults = hasEarlierRequests && !hasCollectableResults;
	const after = joinSentences(
		// The retry may have got this row after all, and another request for it would be charged.
		adviceComesFirst && !isPaid && 'Then run only this row, if still missing.',
		hasOnlyEarlierResults && failsAgain && `To skip this row, set On Error to ${errorOutput}.`,
		hasOnlyEarlierResults &&
			`Earlier requests are paid for: choose 'Retry with currently saved workflow' under ${executions}, not a new run${isSubWorkflow ? ' or a retry of the caller' : ''}.`,
		hasCollectableResults && !adviceComesFirst && whatToDo,
		chargedRequests.length > 0 &&
			`Already paid for${mustSkipItem ? ', so free in that retry' : ''}: ${chargedItemCount} other row${chargedItemCount > 1 ? 's' : ''} (${listResults(chargedRequests)}).`,
		// n8n saved the earlier execution before this retry, so it lacks what this retry has paid for. Another retry of
		// the earlier execution finds that only in the memory of this process.
		isRetry &&
			(hasCollectableResults || hasOnlyEarlierResults) &&
			'Retry this execution, not an earlier one.',
		indeterminateRequests.length > 0 &&
			`${indeterminateSentence(indeterminateRequests)} A retry does not send ${indeterminateRequests.length > 1 ? 'them' : 'it'} again: ${howToCheckFor(kindOf(requests))}.`,
		adviceComesFirst &&
			!isPaid &&
			(isChargedEachTime
				? 'The retry requests this row again, too, as it was first read (charged).'
				: 'A retry uses the rows as they were first read.'),
		// The description does not say so: Speech → Get and Collect have it, too.
		isUnknownTaskReplaced &&
			'If the task stays unknown, the next retry creates a new one, which is charged.',
		// n8n shows only the message of the last attempt.
		retriesOnFail &&
			isChargedEachTime &&
			'Retry On Fail is on: each attempt that failed like this was charged.',
		isSubWorkflow &&
			requests.some(({ state }) => state !== 'gone') &&
			!hasOnlyEarlierResults &&
			"Don't retry the calling workflow: that may charge everything again.",
		kind !== 'overBudget' && rowsSentence(execution),
	);
	return { before: adviceComesFirst ? whatToDo : undefined, after };
}

type OptionalText = string | false | undefined;

const joinTexts = (separator: string, ...texts: OptionalText[]): string =>
	texts.filter(Boolean).join(separator);

const joinSentences = (...texts: OptionalText[]): string | undefined =>
	joinTexts(' ', ...texts) || undefined;
