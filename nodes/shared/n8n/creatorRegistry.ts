import type { IExecuteFunctions } from 'n8n-workflow';
import { sleep } from '../async/deadline';
import type { GenerationRequest } from '../contract';
import { LATE_RESULT_MS } from '../generation/historyMatching';
import type { RequestLedger } from '../generation/requestLedger';
import { withoutQuery } from '../parsing/values';

/** What n8n knows of an execution but offers no method for; it may be missing. */
interface ExecutionInternals {
	runExecutionData?: { parentExecution?: { workflowId?: string } };
}

/** How often a waiting event is compared again with the requests in flight, in ms. */
const RECHECK_MS = 1000;
/** How long an event waits for requests of other prompts, which a service may rewrite, in ms. */
const GRACE_MS = 5000;

/** A sub-workflow, and the workflow that called it. */
export type SubWorkflow = NonNullable<GenerationRequest['creator']>;

/** An entry of the history, or a speech task, of which only the id is known. */
export type Product = Partial<Pick<GenerationRequest, 'prompt' | 'files'>> & {
	id?: string;
	failed?: boolean;
};

/**
 * Whether one of `requests` that `isOwn` has made `product`. Waits for those in flight that may have made
 * it. Never rejects; false once `signal` aborts.
 */
export async function isOwnWork(
	product: Product,
	requests: RequestLedger,
	isOwn: (creator: SubWorkflow) => boolean,
	signal: AbortSignal,
): Promise<boolean> {
	const heardAt = Date.now();
	for (; !signal.aborted; await sleep(RECHECK_MS, signal)) {
		const ownRequests = requests.all().filter(({ creator }) => creator && isOwn(creator));
		const found = new Set(ownRequests.map((request) => compare(request, product, heardAt)));
		if (found.has('made') || !found.has('perhaps')) return found.has('made');
	}
	return false;
}

/** Whether `request` has made `product`, of which an event was heard at `heardAt`. */
function compare(request: GenerationRequest, product: Product, heardAt: number) {
	const { id, prompt, files = [], failed } = product;
	const { announcedIds, requestedCount, searchUntil } = request;
	const known = request.files.map(({ fileUrl }) => withoutQuery(fileUrl));
	const isFile = files.some(({ fileUrl }) => known.includes(withoutQuery(fileUrl)));
	// Where there are ids, addresses may differ in their query alone.
	if (id && announcedIds.length > 0 ? announcedIds.includes(id) : isFile) return 'made';
	const isAllTold = Math.max(announcedIds.length, known.length) >= requestedCount;
	const isSame = prompt === request.prompt;
	if (searchUntil !== undefined) {
		const mayBeLate = Date.now() < searchUntil + LATE_RESULT_MS && (failed || !isAllTold);
		return mayBeLate && isSame && prompt ? 'made' : undefined;
	}
	if (isAllTold || request.sentAt > heardAt) return undefined;
	const isOther = prompt && request.prompt && !isSame;
	return isOther && Date.now() > heardAt + GRACE_MS ? undefined : 'perhaps';
}

/** This workflow and the one that has called it, if one has. */
export function creatorOf(context: IExecuteFunctions): SubWorkflow | undefined {
	const { id = '' } = context.getWorkflow();
	const calledBy = (context as ExecutionInternals).runExecutionData?.parentExecution?.workflowId;
	return calledBy === undefined ? undefined : { id, calledBy };
}
