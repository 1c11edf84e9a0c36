import type { IBinaryData, INodeExecutionData } from 'n8n-workflow';
import { throwIfAborted, withDeadline } from '../../../shared/async/deadline';
import { joinAudio } from '../../audio/joinAudio';
import { joinSubtitles } from '../../audio/subtitles';
import type { FileType } from '../../../shared/contract';
import { Failure, withDefaultFacts } from '../../../shared/failure';
import { fileNameOf } from '../../../shared/parsing/fileType';
import { memoryBudget, readStored, sizeOfStored } from '../../../shared/n8n/storedFile';
import type { ItemContext } from '../../run/itemContext';
import { binaryOf, secondsOf, speechItem, type SpeechResult, type WaitOptions } from './collect';
import type { SpeechPart } from './submit';

/** Parts of one speech. */
export const MAX_PARTS = 200;

/**
 * Does `speak` for each part of a speech, which may take `timeoutMs` milliseconds, side by side as far as
 * the run's concurrency goes. When one fails, no other is begun, and the failure names the part.
 */
export async function runParts<Given, Result>(
	item: ItemContext,
	inputs: Given[],
	timeoutMs: number,
	task: (part: SpeechPart, one: Given) => Promise<Result>,
): Promise<Result[]> {
	const count = inputs.length;
	const speakIn = async (index: number, name: string, signal: AbortSignal) =>
		await withDeadline(timeoutMs, signal, async (signal) => {
			return await task({ index, count, name, signal, timeoutMs }, inputs[index]!);
		});
	if (count === 1) return [await speakIn(0, '', item.signal)];
	const stopping = new AbortController();
	const signal = AbortSignal.any([item.signal, stopping.signal]);
	const results = new Array<Result>(count);
	let failure: unknown;
	const speakOne = async (_: ItemContext, index: number) => {
		if (signal.aborted) return false;
		const place = `${index + 1} of ${count}`;
		return await speakIn(index, `part ${place}, `, signal).then(
			(result) => {
				results[index] = result;
				return true;
			},
			(error: unknown) => {
				failure ??= withDefaultFacts(error, { part: place });
				stopping.abort(new Failure('canceled'));
				return false;
			},
		);
	};
	await item.concurrency.forEach(Array<ItemContext>(count).fill(item), speakOne, 'part');
	if (failure !== undefined) throw failure;
	throwIfAborted(item.signal);
	return results;
}

/** What comes out of a speech: one item with its file, or one for each part where they can't be joined. */
export async function speechOutput(
	item: ItemContext,
	results: SpeechResult[],
	{ outputField, subtitles }: Pick<WaitOptions, 'outputField' | 'subtitles'>,
): Promise<INodeExecutionData[]> {
	if (results.length === 1) return [speechItem(item, results[0]!, outputField)];
	const json = {
		status: 'completed',
		task_id: results[0]!.taskId,
		task_ids: results.map(({ taskId }) => taskId),
		audio_urls: results.map(({ task }) => task.audioUrl),
		parts: results.length,
	};
	const files = results.map(({ file }) => file).filter((file) => file !== undefined);
	if (files.length < results.length) {
		if (subtitles) hintUnjoined(item, "that needs their sound. Turn on 'Download File'");
		return [item.output(json)];
	}
	const joined = await join(item, results, files, json.task_id).catch((error: unknown) => {
		if (error instanceof Failure) throw error;
		const { message = 'no reason given' } = error as Partial<Error>;
		const text = `n8n could not store it: ${message}`;
		throw new Failure('downloadFailed', { text, taskIds: json.task_ids });
	});
	if ('file' in joined) {
		const whole = { ...json, ...secondsOf(joined.durationMs) };
		return [item.output(whole, binaryOf(outputField, joined))];
	}
	item.report.hint(`The parts of a speech could not be joined: ${joined.reason}`);
	return results.map((one, index) =>
		speechItem(item, one, outputField, { part: index + 1, parts: results.length }),
	);
}

const hintUnjoined = ({ report }: ItemContext, reason: string) =>
	report.hint(
		`Subtitles could not be joined: ${reason}. For those of a part, use Speech → Collect`,
	);

/** The files of all parts as one in n8n's storage, with their subtitles, or why they can't be. */
async function join(
	item: ItemContext,
	results: SpeechResult[],
	files: IBinaryData[],
	id: string,
): Promise<
	(Pick<SpeechResult, 'durationMs' | 'subtitles'> & { file: IBinaryData }) | { reason: string }
> {
	const { helpers } = item.context;
	const sounds = await Promise.all(
		files.map(async (file) => ({
			bytes: await sizeOfStored(helpers, file),
			read: async () => await readStored(helpers, file),
		})),
	);
	const total = sounds.reduce((sum, { bytes }) => sum + bytes, 0);
	const release = await memoryBudget().acquire(total, item.signal);
	try {
		const joined = await joinAudio(sounds);
		if ('reason' in joined) return joined;
		// Where n8n keeps files in memory, those of the parts are not needed any more.
		for (const file of files) if (file.id === undefined) file.data = '';
		const file = await store(joined);
		const { durationMs, startsMs } = joined;
		return { file, durationMs, subtitles: await subtitlesOf(startsMs) };
	} finally {
		release();
	}

	/** Those that there are; a hint says why they can't be joined. */
	async function subtitlesOf(startsMs: number[]): Promise<IBinaryData | undefined> {
		const there = results.flatMap(({ subtitles }, index) =>
			subtitles ? [{ file: subtitles, startMs: startsMs[index]! }] : [],
		);
		if (there.length === 0) return undefined;
		const texts = there.map(async ({ file, startMs }) => {
			return { text: (await readStored(helpers, file)).toString(), startMs };
		});
		const joined = joinSubtitles(await Promise.all(texts));
		if ('reason' in joined) return void hintUnjoined(item, joined.reason);
		return await store({ ...joined, bytes: Buffer.from(joined.text) });
	}

	async function store({ bytes, mimeType, extension }: FileType & { bytes: Buffer }) {
		const name = fileNameOf('speech', item.credential.redact.text(id), extension);
		return await helpers.prepareBinaryData(bytes, name, mimeType);
	}
}
