import type { INodeExecutionData, ITriggerFunctions } from 'n8n-workflow';
import { sleep, startDeadline } from '../../shared/async/deadline';
import { Failure } from '../../shared/failure';
import type { Api } from '../../shared/api/api';
import { fetchEntryFiles } from '../../shared/generation/entryFiles';
import { wordingOf } from '../../shared/n8n/messages';
import { readReason } from '../../shared/parsing/errorText';
import type { ExecutionQueue } from '../executionQueue';
import type { Settings } from '../settings';
import type { SelfStarts } from '../watch/selfStarts';
import type { EntryStore } from './entryStore';
import type { Found } from './look';

/** How long fetching the files of one entry may take, in ms. */
const DOWNLOAD_MS = 3_600_000;
/**
 * How long the next event waits for the end of an execution, in ms: n8n may store executions that begin
 * at the same time in another order.
 */
const PAUSE_MS = 1000;

export interface EntryEventsParts {
	context: ITriggerFunctions;
	api: Api;
	settings: Settings;
	entryStore: EntryStore;
	executionQueue: ExecutionQueue;
	selfStarts: SelfStarts;
	/** Aborts when the trigger is closed. */
	closing: AbortSignal;
	/** Called when it makes no sense to go on: the workflow starts itself, say. */
	onFatal(failure: Failure): void;
}

/** Makes events of entries of the history, and hands them to the queue: files together, events in order. */
export class EntryEvents {
	/** Resolves when n8n was told of the last one and the next may follow, or will not be told. */
	private before: Promise<void> = Promise.resolve();

	constructor(private readonly parts: EntryEventsParts) {}

	/** An entry has its file, or has failed. `name` tells whose it is. */
	tell(found: Found, name: string): void {
		const { entryStore, executionQueue, selfStarts, closing } = this.parts;
		const { mark, entry } = found;
		const possibleDepth = selfStarts.possibleDepthOfLate(name);
		const { before } = this;
		let depth = 0;
		let passOn = () => {};
		const told = new Promise<void>((resolve) => (passOn = resolve));
		const over = executionQueue.add({
			// It may stand in the log.
			taskId: this.parts.api.credential.redact.text(entry.id ?? mark),
			name: entry.failed ? 'generation failed' : 'generated',
			isProgress: false,
			isWanted: async () => {
				if (!entryStore.isOpen(mark)) return false;
				const known = this.depthOf(found, name, possibleDepth);
				depth = known ?? 0;
				return known !== undefined;
			},
			make: async () => {
				const item = await this.itemOf(found);
				await before;
				return item;
			},
			onEmit: (ended) => {
				entryStore.emitted(mark);
				entryStore.save();
				selfStarts.begin(depth, ended);
				void Promise.race([ended, sleep(PAUSE_MS, closing)]).then(passOn);
			},
			onRefused: () => entryStore.refused(mark),
			onDone: () => entryStore.end(mark),
		});
		this.before = Promise.race([told, over]);
	}

	/** Undefined when it is to be passed over. */
	private depthOf({ mark, entry }: Found, name: string, possibleDepth: number): number | undefined {
		const { selfStarts, entryStore, onFatal } = this.parts;
		try {
			const depth = selfStarts.knownDepthOf(name, possibleDepth, entry.prompt || undefined);
			if (depth === undefined) entryStore.end(mark);
			return depth;
		} catch (error) {
			// Told to the user instead: activated again, the trigger must not emit it after all.
			entryStore.end(mark);
			onFatal(error as Failure);
			return undefined;
		}
	}

	/** A file that can't be fetched makes no entry less made: the item then says so in `error`. */
	private async itemOf({ entry }: Found): Promise<INodeExecutionData> {
		const { context, api, settings, closing } = this.parts;
		const { credential } = api;
		const { record, id, files, failed } = entry;
		const named = id === undefined ? record : { ...record, id };
		const itemWith = (more: object) => ({
			json: credential.redact.value({ ...named, ...more }) as INodeExecutionData['json'],
		});
		if (failed) {
			const error = readReason(record) ?? 'The service gave no reason';
			return itemWith({ event: 'failed', error });
		}
		const told = { event: 'generated', file_url: files[0]!.fileUrl };
		if (!settings.download) return itemWith(told);
		const limit = startDeadline(DOWNLOAD_MS, closing);
		const { outputField } = settings;
		return await fetchEntryFiles(context, credential, record, files, outputField, limit.signal)
			.then(
				(binary) => ({ ...itemWith(told), binary }),
				(error: unknown) => {
					const failure = error instanceof Failure ? error : new Failure('badFile');
					return itemWith({ ...told, error: wordingOf(failure).message });
				},
			)
			.finally(() => limit.stop());
	}
}
