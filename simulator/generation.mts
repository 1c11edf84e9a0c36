import { randomUUID } from 'node:crypto';
import { storeGenerated } from './files.mts';
import { numberOf, scenariosIn, type Scenarios } from './scenarios.mts';
import type { GeneratedKind, HistoryItem } from './types.mts';
import type { Simulator } from './state.mts';
import type { Call } from './replies.mts';

/** How long each kind of media takes, in ms, before the pace is applied. */
export const DURATION_MS = { video: 10_000, image: 4_000 };
/**
 * How long after the usual end of a generation its items get their files if its stream was cut, in ms, before the pace
 * is applied.
 */
const LATE_HISTORY_MS = 5_000;

/** An event of a generation: a status word, the result, a failure, or a lost connection. */
export type JobEvent =
	| { type: 'status'; word: string }
	| { type: 'complete'; items: HistoryItem[] }
	| { type: 'error'; code: string; status: number }
	| { type: 'cut' };

/** A generation in flight. It continues, and is charged, even if the client has closed the connection. */
export interface GenerationJob {
	kind: GeneratedKind;
	/** Is called with each event. It does nothing until `sendJob` replaces it by a function that answers the client. */
	onEvent(event: JobEvent): void;
}

/** A checked request for a generation. */
export interface CheckedGeneration {
	kind: GeneratedKind;
	prompt: string;
	aspectRatio: string;
	/** How many files are asked for. */
	count: number;
	hasImages: boolean;
}

/** Accepts, charges and starts a generation. Its scenarios decide how it goes on. */
export function startGeneration(
	sim: Simulator,
	call: Call,
	order: CheckedGeneration,
): GenerationJob {
	const scenarios = scenariosIn(order.prompt);
	const job: GenerationJob = { kind: order.kind, onEvent: () => {} };
	sim.chargedCalls++;
	const itemsInProgress = sim.dialect.historyShowsInProgress
		? addToHistory(sim, call, order)
		: undefined;
	const finishItems = () =>
		storeFinishedItems(sim, itemsInProgress ?? addToHistory(sim, call, order));
	if (call.jobWithoutEvents) {
		const finishesAfterMs = call.jobWithoutEvents.finishesAfterMs;
		if (finishesAfterMs !== undefined) sim.timers.after(finishesAfterMs, () => void finishItems());
		return job;
	}

	const slot = { token: call.token };
	sim.inFlight.add(slot);
	const freeSlotAndFinish = () => {
		sim.inFlight.delete(slot);
		return finishItems();
	};
	const defaultMs = DURATION_MS[order.kind];
	const durationMs = sim.applyPace(numberOf(scenarios, 'slow', defaultMs / 1000) * 1000);
	const scheduleAt = (share: number, action: () => void) =>
		sim.timers.after(durationMs * share, action);
	const scheduleStatus = (share: number, word: string) =>
		scheduleAt(share, () => job.onEvent({ type: 'status', word }));
	const hasMoreStatuses = sim.dialect.sseStatusWords === 'more';

	scheduleStatus(0, 'starting');
	if (hasMoreStatuses && order.hasImages) scheduleStatus(0.04, 'uploading_images');
	scheduleStatus(0.15, 'processing');
	if (hasMoreStatuses) scheduleStatus(0.6, 'generating');
	const failure = failureOf(scenarios);
	if (failure) {
		scheduleAt(0.5, () => {
			sim.inFlight.delete(slot);
			for (const item of itemsInProgress ?? []) item.status = 'failed';
			sim.notifyWaiters();
			job.onEvent(failure);
		});
	} else if (scenarios.has('stream-resets')) {
		scheduleAt(0.5, () => job.onEvent({ type: 'cut' }));
		const lateMs = durationMs + sim.applyPace(LATE_HISTORY_MS);
		sim.timers.after(lateMs, () => void freeSlotAndFinish());
	} else {
		scheduleAt(1, () => job.onEvent({ type: 'complete', items: freeSlotAndFinish() }));
	}
	return job;
}

/** The error event that the scenarios ask for; undefined if they ask for none. */
function failureOf(scenarios: Scenarios): JobEvent | undefined {
	if (scenarios.has('unsafe')) return { type: 'error', code: 'UNSAFE_GENERATION', status: 400 };
	if (scenarios.get('no-credits') === 'event') {
		return { type: 'error', code: 'You have not enough credits.', status: 402 };
	}
	return undefined;
}

/** Adds the items of a generation to the history, still without files, and returns them. */
function addToHistory(sim: Simulator, call: Call, order: CheckedGeneration): HistoryItem[] {
	const scenarios = scenariosIn(order.prompt);
	const count = scenarios.has('fewer') ? Math.max(1, order.count - 1) : order.count;
	const items = Array.from({ length: count }, (): HistoryItem => ({
		id: randomUUID(),
		prompt: order.prompt,
		type: order.kind,
		file_url: '',
		status: 'processing',
		created_at: sim.timestamp(),
		...(order.kind === 'video' ? { aspect_ratio: order.aspectRatio } : {}),
		owner: call.token,
	}));
	sim.history.unshift(...[...items].reverse());
	sim.notifyWaiters();
	return items;
}

/** Stores the files of items, marks the items as completed, and returns them. */
function storeFinishedItems(sim: Simulator, items: HistoryItem[]): HistoryItem[] {
	for (const item of items) {
		item.file_url = storeGenerated(sim, item);
		item.status = 'completed';
	}
	sim.notifyWaiters();
	return items;
}

/** Converts a history item (§2.3) to the JSON of the dialect. */
export function toWireItem(sim: Simulator, item: HistoryItem): Record<string, unknown> {
	const { owner: _owner, file_url, status, type, ...fields } = item;
	const { dialect } = sim;
	const urls = dialect.historyFiles === 'file_urls' ? { file_urls: [file_url] } : { file_url };
	return {
		...fields,
		...(dialect.itemType === 'shown' ? { type } : {}),
		...(file_url === '' ? {} : urls),
		status: status === 'completed' ? dialect.itemStatus : status,
	};
}

/**
 * Returns the data of a completion event: an array of items or, if the dialect says so, a single item without the
 * array.
 */
export function toWireCompletion(sim: Simulator, items: HistoryItem[]): unknown {
	const wireItems = items.map((item) => toWireItem(sim, item));
	return sim.dialect.completion === 'object' && wireItems.length === 1 ? wireItems[0] : wireItems;
}
