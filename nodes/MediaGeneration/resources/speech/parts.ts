import type { IBinaryData, INodeExecutionData } from 'n8n-workflow';
import {
	linkedController,
	SILENT_ABORT,
	throwIfAborted,
	withDeadline,
} from '../../../shared/async/deadline';
import { joinAudio } from '../../audio/joinAudio';
import { joinSubtitles } from '../../audio/subtitles';
import { Failure, withDefaultFacts } from '../../../shared/failure';
import { toDownloadFailure } from '../../../shared/http/download';
import { fileNameOf, type FileType } from '../../../shared/parsing/fileType';
import { memoryBudgets, readStoredFile, storedFileSize } from '../../../shared/n8n/storedFile';
import type { ItemContext } from '../../run/operation';
import {
	binaryOf,
	collectTask,
	durationField,
	speechItem,
	type SpeechResult,
	type CollectOptions,
} from './collectTask';
import type { SpeechOrder } from './submit';

/** The maximum number of parts of one speech, and of task ids that Speech → Collect takes. */
export const MAX_PARTS = 200;

/**
 * Runs `action` for each of `inputs`, each of which counts as one part of a speech, and resolves with the results in
 * the same order. Each part has a time limit of `timeoutMs`. If one part fails, stops the others, and throws that
 * part's error. Call this only while the item's task runs, because the item gives up its slot to the parts.
 */
export async function runParts<Input, Result>(
	item: ItemContext,
	inputs: Input[],
	timeoutMs: number,
	action: (part: ItemContext, input: Input) => Promise<Result>,
): Promise<Result[]> {
	const runPart = async (part: ItemContext, index: number) =>
		await withDeadline(timeoutMs, part.stopStarting, async (stopStarting) => {
			return await action({ ...part, stopStarting }, inputs[index]!);
		});
	const count = inputs.length;
	if (count === 1) return [await runPart(item, 0)];
	const stopController = linkedController(item.stopStarting);
	const { signal: stopStarting } = stopController;
	const parts = inputs.map((_, index): ItemContext => {
		return { ...item, stopStarting, report: item.report.forPart({ number: index + 1, count }) };
	});
	const results = new Array<Result>(count);
	let failure: unknown;
	const runUnlessStopped = async (part: ItemContext, index: number) => {
		if (stopStarting.aborted) return false;
		try {
			results[index] = await runPart(part, index);
			return true;
		} catch (error) {
			failure ??= withDefaultFacts(error, { part: `${index + 1} of ${count}` });
			stopController.abort(new Failure('canceled'));
			return false;
		}
	};
	// The parts use slots of their own, so the item gives back its slot until they have ended.
	item.concurrency.useSlots(item, -1);
	await item.concurrency.forEach(parts, runUnlessStopped);
	item.concurrency.useSlots(item, 1);
	stopController.abort(SILENT_ABORT);
	if (failure !== undefined) throw failure;
	throwIfAborted(item.stopStarting);
	return results;
}

/**
 * Collects all parts of one speech (see `collectTask`), and resolves with its output item, or with one per part if they
 * can't be joined. Throws a Failure if a part fails or a file can't be stored.
 */
export async function collectAsOne(
	item: ItemContext,
	options: CollectOptions,
	ordersOrIds: Array<SpeechOrder | string>,
): Promise<INodeExecutionData[]> {
	const { fileField, timeoutMs, wantsFile, wantsSubtitles } = options;
	// To join the subtitles of several parts, the duration of each part must be known, so its audio must be downloaded.
	const canHaveSubtitles = wantsFile() || ordersOrIds.length === 1;
	const partOptions = { ...options, wantsSubtitles: wantsSubtitles && canHaveSubtitles };
	const results = await runParts(item, ordersOrIds, timeoutMs, async (part, orderOrId) => {
		return await collectTask(part, partOptions, orderOrId);
	});
	if (results.length === 1) return [speechItem(item, results[0]!, fileField)];
	const json = {
		task_id: results[0]!.taskId,
		status: 'completed',
		task_ids: results.map(({ taskId }) => taskId),
		audio_urls: results.map(({ task }) => task.audioUrl),
		parts: results.length,
	};
	const files = results.map(({ file }) => file).filter((file) => file !== undefined);
	if (wantsSubtitles && !canHaveSubtitles) {
		item.report.hint(
			"Subtitles could not be joined: 'Download File' is off. To get them at no extra charge, use Speech → Collect with 'Download Subtitles' and 'Download File' on",
		);
	}
	if (files.length === 0) return [item.output(json)];
	const joined =
		files.length < results.length
			? { reason: "'Download File' is off, and the service sent only some of them as files" }
			: await joinParts(item, results, files).catch((error: unknown) => {
					throw toDownloadFailure(error);
				});
	if ('file' in joined) {
		const joinedJson = { ...json, ...durationField(joined.durationMs) };
		return [item.output(joinedJson, binaryOf(fileField, joined))];
	}
	item.report.hint(
		`The parts could not be joined: ${joined.reason}. They come out as separate items`,
	);
	return results.map((result, index) =>
		speechItem(item, result, fileField, { part: index + 1, parts: results.length }),
	);
}

/**
 * Joins the files and the subtitles of all parts, and stores them in n8n under the first part's id. If the files cannot
 * be joined, resolves with the reason in words.
 */
async function joinParts(item: ItemContext, results: SpeechResult[], files: IBinaryData[]) {
	const { helpers } = item.context;
	const sounds = await Promise.all(
		files.map(async (file) => ({
			bytes: await storedFileSize(helpers, file),
			read: async () => await readStoredFile(helpers, file),
		})),
	);
	const totalBytes = sounds.reduce((sum, { bytes }) => sum + bytes, 0);
	const release = await memoryBudgets().sounds.acquire(totalBytes, item.stopStarting);
	try {
		const joined = await joinAudio(sounds);
		if ('reason' in joined) return joined;
		// If n8n keeps files in memory, this frees the memory of the parts.
		for (const file of files) if (file.id === undefined) file.data = '';
		const file = await storeFile(joined);
		const { durationMs, startsMs } = joined;
		return { file, durationMs, subtitles: await storeJoinedSubtitles(startsMs) };
	} finally {
		release();
	}

	/**
	 * Joins and stores the subtitles of the parts. `startsMs` has the time at which each part begins in the joined
	 * audio, in ms. Resolves with undefined if no part has subtitles.
	 */
	async function storeJoinedSubtitles(startsMs: number[]): Promise<IBinaryData | undefined> {
		const textPromises = results.map(async ({ subtitles }, index) =>
			subtitles
				? [{ text: String(await readStoredFile(helpers, subtitles)), startMs: startsMs[index]! }]
				: [],
		);
		const texts = (await Promise.all(textPromises)).flat();
		if (texts.length === 0) return undefined;
		const missingParts = results.flatMap(({ subtitles }, index) => (subtitles ? [] : [index + 1]));
		if (missingParts.length > 0)
			item.report.hint(
				`The subtitles lack part${missingParts.length > 1 ? 's' : ''} ${missingParts.join(', ')}: the service sent none`,
			);
		const joined = joinSubtitles(texts);
		return await storeFile({ ...joined, bytes: Buffer.from(joined.text) });
	}

	async function storeFile({ bytes, mimeType, extension }: FileType & { bytes: Buffer }) {
		const id = item.credential.redact.text(results[0]!.taskId);
		const name = fileNameOf('speech', id, extension);
		return await helpers.prepareBinaryData(bytes, name, mimeType);
	}
}
