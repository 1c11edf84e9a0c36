import { randomUUID } from 'node:crypto';
import { storeGenerated } from './files.mts';
import { figure, scenarioOf, type Scenario } from './scenarios.mts';
import type { GeneratedKind, HistoryItem } from './types.mts';
import type { World } from './world.mts';
import type { Call } from './replies.mts';

/** How long each kind takes, in ms. */
const USUAL_MS: Record<GeneratedKind, number> = { video: 10_000, image: 4_000 };
/** How long after the usual end an item of a broken stream enters the history. */
const LATE_HISTORY_MS = 5_000;

export type JobEvent =
	| { type: 'status'; word: string }
	| { type: 'complete'; items: HistoryItem[] }
	| { type: 'error'; code: string; status: number }
	| { type: 'cut' };

/** A generation under way; it goes on, and is paid, whether or not anyone is told. */
export interface GenerationJob {
	kind: GeneratedKind;
	tell(event: JobEvent): void;
}

export interface Order {
	kind: GeneratedKind;
	prompt: string;
	aspectRatio: string;
	count: number;
	hasImages: boolean;
}

/** Accepts (and charges) a generation and starts it: 10 s for video, 4 s for an image, paced. */
export function startGeneration(world: World, call: Call, order: Order): GenerationJob {
	const scenario = scenarioOf(order.prompt);
	const job: GenerationJob = { kind: order.kind, tell: () => {} };
	world.creates++;
	const listed = world.dialect.historyMaking ? list(world, call, order) : undefined;
	const finished = () => finish(world, listed ?? list(world, call, order));
	if (call.muted) {
		const wait = call.muted.finishesAfterMs;
		if (wait !== undefined) world.timers.after(wait, () => void finished());
		return job;
	}

	const slot = { token: call.token };
	world.working.add(slot);
	const done = () => {
		world.working.delete(slot);
		return finished();
	};
	const usual = USUAL_MS[order.kind];
	const duration = world.paced(figure(scenario, 'slow', usual / 1000) * 1000);
	const at = (share: number, act: () => void) => world.timers.after(duration * share, act);
	const sayAt = (share: number, word: string) =>
		at(share, () => job.tell({ type: 'status', word }));
	const saysMore = world.dialect.sseStatusWords === 'more';

	sayAt(0, 'starting');
	if (saysMore && order.hasImages) sayAt(0.04, 'uploading_images');
	sayAt(0.15, 'processing');
	if (saysMore) sayAt(0.6, 'generating');
	const failure = failureOf(scenario);
	if (failure) {
		at(0.5, () => {
			world.working.delete(slot);
			for (const item of listed ?? []) item.status = 'failed';
			world.changed();
			job.tell(failure);
		});
	} else if (scenario.has('stream-resets')) {
		at(0.5, () => job.tell({ type: 'cut' }));
		const late = duration + world.paced(LATE_HISTORY_MS);
		world.timers.after(late, () => void done());
	} else {
		at(1, () => job.tell({ type: 'complete', items: done() }));
	}
	return job;
}

function failureOf(scenario: Scenario): JobEvent | undefined {
	if (scenario.has('unsafe')) return { type: 'error', code: 'UNSAFE_GENERATION', status: 400 };
	if (scenario.get('no-credits') === 'event') {
		return { type: 'error', code: 'You have not enough credits.', status: 402 };
	}
	return undefined;
}

/** Puts the items of a generation into the history, without files; returns them. */
function list(world: World, call: Call, order: Order): HistoryItem[] {
	const scenario = scenarioOf(order.prompt);
	const count = scenario.has('fewer') ? Math.max(1, order.count - 1) : order.count;
	const items = Array.from({ length: count }, (): HistoryItem => ({
		id: randomUUID(),
		prompt: order.prompt,
		type: order.kind,
		file_url: '',
		status: 'processing',
		created_at: world.timestamp(),
		...(order.kind === 'video' ? { aspect_ratio: order.aspectRatio } : {}),
		owner: call.token,
	}));
	world.history.unshift(...[...items].reverse());
	world.changed();
	return items;
}

/** Gives items their files; returns them. */
function finish(world: World, items: HistoryItem[]): HistoryItem[] {
	for (const item of items) {
		item.file_url = storeGenerated(world, item);
		item.status = 'completed';
	}
	world.changed();
	return items;
}

/** A history object as the dialect sends it (§2.3). */
export function wireItem(world: World, item: HistoryItem): Record<string, unknown> {
	const { owner: _owner, file_url, status, ...fields } = item;
	const { dialect } = world;
	const urls = dialect.historyFiles === 'file_urls' ? { file_urls: [file_url] } : { file_url };
	return {
		...fields,
		...(file_url === '' ? {} : urls),
		status: status === 'completed' ? dialect.itemStatus : status,
	};
}

/** The data of a completion: the array of items, or a single item bare if the dialect says so. */
export function wireCompletion(world: World, items: HistoryItem[]): unknown {
	const wire = items.map((item) => wireItem(world, item));
	return world.dialect.completion === 'object' && wire.length === 1 ? wire[0] : wire;
}
