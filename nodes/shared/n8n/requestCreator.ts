import type { IDataObject, IExecuteFunctions, INode } from 'n8n-workflow';
import { sleep } from '../async/deadline';
import type { GeneratedFile } from '../contract';
import { type HistoryEntry, toHistoryEntries } from '../generation/historyEntries';
import { identifyOwners, LATE_RESULT_MS } from '../generation/historyMatching';
import { allRequests, ledgerOf, type MediaRequest, promptStart } from '../generation/requestLedger';
import type { Credential } from '../http/credential';
import { asText, isRecord, isSameText, withoutQuery } from '../parsing/values';
import { callerIdOf, startNodeOf } from './internals';
import { startTriggerOf } from './selfStart';

/** The pause before a waiting event is compared with the known requests again, in ms. */
const RECHECK_MS = 1000;
/** How long an event waits for requests in flight whose prompt the service may have rewritten, in ms. */
const OTHER_PROMPT_GRACE_MS = 5000;

/** How long a task with the text of a failed create call counts as its result, in ms. Tasks may wait two hours. */
const LATE_TASK_MS = 3 * 3_600_000;

/** The workflow that has sent a request, and what called it (see `MediaRequest.creator`). */
export type RequestCreator = MediaRequest['creator'];

/** What a trigger's event is about: an entry of the history, or a speech task, whose `prompt` is its text. */
export type EventSubject =
	| (HistoryEntry & { readPrompt?: undefined })
	| {
			id: string;
			/** Undefined if unknown. */
			prompt?: string;
			/**
			 * Reads an unknown `prompt`; called only if it decides. Resolves with undefined if the service does not tell it,
			 * and rejects if it can't be read.
			 */
			readPrompt?(): Promise<string | undefined>;
			files?: undefined;
			hasFailed?: undefined;
	  };

/**
 * Finds out whether a trigger's own executions have created `subject`, also through a sub-workflow or an error
 * workflow. If they have, a new start of the workflow would make an endless loop that is charged. Waits while the
 * answer is not clear yet. If the prompt decides, the id is noted in the request that has most likely created
 * `subject`.
 *
 * @param credential the trigger's credential
 * @param isOwnCreator returns true for an execution that the trigger has started, directly or through others
 * @param signal ends the wait; the result is then false
 * @returns true if such an execution has most likely created `subject`; never rejects
 */
export async function isCreatedByOwnExecution(
	subject: EventSubject,
	credential: Credential,
	isOwnCreator: (creator: RequestCreator) => boolean,
	signal: AbortSignal,
): Promise<boolean> {
	const receivedAt = Date.now();
	const isSpeech = subject.files === undefined;
	const ledger = ledgerOf(credential);
	const isOwn = ({ creator, kind }: MediaRequest) =>
		(kind === 'speech') === isSpeech && isOwnCreator(creator);
	let hasReadFailed = false;
	while (!signal.aborted) {
		if (provenCreators(ledger.all(), subject).some(isOwn)) return true;
		const ownRequests = ledger.all().filter(isOwn);
		const verdicts = ownRequests.map((request) => verdictOf(request, subject, receivedAt));
		const creator = ownRequests[verdicts.indexOf('created')];
		// The sub-workflow may use another token or Base URL of the same account. Another service may use the same ids,
		// so the prompts must be equal, too.
		const provenElsewhere = provenCreators(allRequests(), subject).filter(isOwn);
		if (subject.readPrompt && (creator || provenElsewhere.length > 0)) {
			const prompt = await subject.readPrompt().catch(() => void (hasReadFailed = true));
			subject = { id: subject.id, prompt: prompt ?? undefined };
			continue;
		}
		if (provenElsewhere.some(({ prompt }) => promptStart(prompt) === promptStart(subject.prompt)))
			return true;
		// If the text could not be read, the task may be another's.
		if (creator && subject.id && !hasReadFailed) assignResult(creator, subject.id, subject.files);
		if (creator || !verdicts.includes('perhaps')) return creator !== undefined;
		await sleep(RECHECK_MS, signal);
	}
	return false;
}

/** Returns those of `requests` that an id or a URL proves to have created `subject`. */
function provenCreators(requests: MediaRequest[], subject: EventSubject): MediaRequest[] {
	const { id, files } = subject;
	if (files === undefined) return requests.filter(({ announcedIds }) => announcedIds.includes(id));
	// The entry is new. Its time is by the service's clock, so it does not show that the entry is older than a request.
	const entry = { ...subject, createdAt: NaN };
	const owners = identifyOwners([entry], requests).get(entry) ?? [];
	const paths = new Set(files.map(({ fileUrl }) => withoutQuery(fileUrl)));
	// The history may have other ids than the stream. But if both sides have ids, the query counts unless the path ends
	// in a file extension, because URLs of different files may differ only in the query.
	const hasPath = ({ announcedIds, files: ownFiles }: MediaRequest) =>
		(id === undefined || announcedIds.length === 0) &&
		ownFiles.some(({ fileUrl }) => paths.has(withoutQuery(fileUrl)));
	const isAttributed = ({ attributedIds }: MediaRequest) => id && attributedIds?.includes(id);
	return [...owners, ...requests.filter(hasPath), ...requests.filter(isAttributed)];
}

/** Notes in each request whose stream has ended whether the history shows it. Call it with the entries of each poll. */
export function noteListedRequests(credential: Credential, entries: HistoryEntry[]): void {
	const requests = ledgerOf(credential).generations();
	const unlisted = requests.filter((one) => one.searchUntil !== undefined && !one.isListed);
	const listed = new Set(
		[...identifyOwners(entries, requests).values()].flatMap((some) => [...some]),
	);
	for (const request of unlisted) request.isListed = listed.has(request);
}

/**
 * Judges a request that no id or URL proves to be the creator. Returns `created` if it has most likely created `subject`,
 * `perhaps` if that is not clear yet, and undefined if it has not. `receivedAt` is when the event arrived, in ms since 1970.
 */
function verdictOf(request: MediaRequest, subject: EventSubject, receivedAt: number) {
	const { prompt, hasFailed } = subject;
	const { files, attributableCount = request.requestedCount, searchUntil, isListed } = request;
	const isSpeech = request.kind === 'speech';
	const isKnownTask = isSpeech && request.announcedIds.length > 0;
	// If the prompt of the subject is unknown, any request may be the creator, even one that got no response.
	const hasOtherPrompt = prompt && !isSameText(prompt, request.prompt);
	// With `searchUntil`, the stream of the request has ended. For speech, its create call has failed.
	if (searchUntil !== undefined) {
		// The history may have other ids and URLs than the stream, so files are known only once it has shown the request,
		// and a file without an id never. Each entry that was found by the prompt has lowered `attributableCount` (see
		// `assignResult`).
		const knownCount = isListed ? files.filter(({ id }) => id !== undefined).length : 0;
		const isIncomplete = isSpeech ? !isKnownTask : knownCount < attributableCount;
		// Without its text, any task would count as the result, so the time is shorter.
		const hasText = isSpeech && (prompt !== undefined || subject.readPrompt);
		const lateMs = hasText ? LATE_TASK_MS : LATE_RESULT_MS;
		const mayStillArrive = Date.now() < searchUntil + lateMs && (hasFailed || isIncomplete);
		if (!mayStillArrive || hasOtherPrompt) return undefined;
		return files.length >= attributableCount && isListed === undefined ? 'perhaps' : 'created';
	}
	// The history may have other ids than those that were announced, so those of a generation decide nothing yet.
	if (isKnownTask || request.sentAt > receivedAt) return undefined;
	// The service may give a prompt of its own to a request without one.
	const isOther = hasOtherPrompt && request.prompt !== '';
	return isOther && Date.now() > receivedAt + OTHER_PROMPT_GRACE_MS ? undefined : 'perhaps';
}

/** Notes that `files`, or the task `id`, are the result of `creator`, so that it is not the creator of others. */
function assignResult(creator: MediaRequest, id: string, files: GeneratedFile[] = []): void {
	if (creator.kind === 'speech') creator.announcedIds = [id];
	if (creator.attributableCount === undefined) return;
	creator.attributableCount -= Math.max(1, files.length);
	// Another trigger may still ask about the same entry.
	creator.attributedIds = [...(creator.attributedIds ?? []), id];
}

/** Returns the key that identifies a trigger in `RequestCreator`. */
export const triggerKeyOf = (workflowId: string, { id }: INode): string => `${workflowId}/${id}`;

/**
 * Returns the workflow of an execution, and what called or started it (see `MediaRequest.creator`). It takes some ms of
 * processor time if thousands of requests are known, so call it once per run.
 */
export function creatorOf(context: IExecuteFunctions): RequestCreator {
	const startItem = startNodeOf(context).runs?.[0]?.data?.main?.[0]?.[0];
	if (context.getMode() === 'error') {
		const workflow = startItem?.json.workflow;
		const failedId = isRecord(workflow) ? asText(workflow.id) : undefined;
		if (failedId !== undefined) return { id: failedId, calledBy: failedId };
	}
	const { id = '' } = context.getWorkflow();
	const trigger = startTriggerOf(context);
	if (!trigger || !startItem) return { id, calledBy: callerIdOf(context) };
	const earlierTriggers = creatorsOfEvent(startItem.json).flatMap(({ triggers = [] }) => triggers);
	return { id, triggers: [...new Set([triggerKeyOf(id, trigger), ...earlierTriggers])] };
}

/**
 * Returns the creators of what a trigger's event with this json is about. They may have used another token or Base URL of
 * the same account, so the requests of all accounts are searched.
 */
function creatorsOfEvent(json: IDataObject): RequestCreator[] {
	const isSpeech = 'process_percentage' in json;
	const subject = isSpeech
		? { id: asText(json.task_id) ?? '' }
		: toHistoryEntries([json], asText(json.file_url) ?? '')[0]!;
	return provenCreators(allRequests(), subject)
		.filter(({ kind }) => (kind === 'speech') === isSpeech)
		.map(({ creator }) => creator);
}
