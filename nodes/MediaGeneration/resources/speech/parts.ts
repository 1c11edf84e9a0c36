import type { IBinaryData, INodeExecutionData } from 'n8n-workflow';
import { abortReason } from '../../../shared/async/deadline';
import { joinAudio } from '../../audio/joinAudio';
import { joinSubtitles } from '../../audio/subtitles';
import type { ServiceRecord, FileType } from '../../../shared/contract';
import { Failure, isFailure, withFacts } from '../../../shared/failure';
import { MAX_JOINED_SUBTITLES_BYTES } from '../../../shared/limits';
import { fileNameOf } from '../../../shared/parsing/fileType';
import { forEachConcurrently } from '../../run/concurrency';
import type { PaidRequest } from '../../paid/paidLog';
import { memory } from '../../run/memory';
import type { Work } from '../../run/work';
import { readStored, sizeOfStored } from '../../../shared/n8n/storedFile';
import {
	binaryOf,
	spokenFields,
	spokenOutput,
	type Part,
	type Spoken,
	type WaitFields,
} from './collect';

/** Parts of one speech. */
export const MAX_PARTS = 200;

/**
 * Does `speak` for each part of a speech, side by side as far as the run's concurrency goes; `paidFor` is
 * what is remembered of a part at any moment. When one fails, no other is begun, and the failure names
 * the tasks of all, which are paid, and the parts that may be.
 */
export async function forAllParts<Result>(
	work: Work,
	count: number,
	paidFor: (index: number) => PaidRequest | undefined,
	speak: (part: Part) => Promise<Result>,
): Promise<Result[]> {
	const { signal: stopped, concurrency } = work;
	if (count === 1) return [await speak({ index: 0, count, name: '', stopped })];
	work.report.note({ parts: count });
	const stopping = new AbortController();
	const either = AbortSignal.any([stopped, stopping.signal]);
	const results = new Array<Result>(count);
	const gone = new Set<number>();
	let failed: { index: number; error: unknown } | undefined;
	const workOn = async (index: number) => {
		if (either.aborted) return false;
		const name = `part ${index + 1} of ${count}, `;
		try {
			results[index] = await speak({ index, count, name, stopped: either });
			return true;
		} catch (error) {
			// A task that failed can't be collected, though it is named as what failed.
			if (isFailure(error, 'taskFailed', 'notFound')) gone.add(index);
			failed ??= { index, error };
			stopping.abort(new Failure('canceled'));
			return false;
		}
	};
	await forEachConcurrently(count, concurrency, workOn, 'part');
	if (failed === undefined && !stopped.aborted) return results;
	const taskIds: string[] = [];
	const unclearParts: number[] = [];
	for (let index = 0; index < count; index++) {
		const left = paidFor(index);
		const isThere = left?.state === 'task' && !left.isGone && !gone.has(index);
		if (isThere) taskIds.push(left.taskId);
		if (left?.state === 'sent' && index !== failed?.index) unclearParts.push(index + 1);
	}
	const part = failed && `${failed.index + 1} of ${count}`;
	throw withFacts(failed?.error ?? abortReason(stopped), { taskIds, unclearParts, part });
}

/** What comes out of a speech: one item with its file, or one for each part where they can't be joined. */
export async function speechOutput(
	work: Work,
	spoken: Spoken[],
	{ outputField, subtitles }: Pick<WaitFields, 'outputField' | 'subtitles'>,
): Promise<INodeExecutionData[]> {
	if (spoken.length === 1) return [spokenOutput(work, spoken[0]!, outputField)];
	const json = {
		...commonFields(spoken),
		status: 'completed',
		task_id: spoken[0]!.taskId,
		task_ids: spoken.map(({ taskId }) => taskId),
		audio_urls: spoken.map(({ task }) => task.audioUrl),
		parts: spoken.length,
	};
	const files = spoken.map(({ file }) => file).filter((file) => file !== undefined);
	if (files.length < spoken.length) {
		if (subtitles) hintUnjoined(work, "that needs their sound. Turn on 'Download File'");
		return [work.output(json)];
	}
	const joined = await join(work, spoken, files, json.task_id).catch((error: unknown) => {
		if (error instanceof Failure) throw error;
		const { message = 'no reason given' } = error as Partial<Error>;
		const text = `n8n could not store it: ${message}`;
		throw new Failure('badFile', { text, taskIds: json.task_ids });
	});
	if ('file' in joined) return [work.output(json, binaryOf(outputField, joined))];
	work.report.hint(
		'parts',
		`The parts of a speech come out one by one, since they could not be joined: ${joined.why}`,
	);
	return spoken.map((one, index) =>
		spokenOutput(work, one, outputField, { part: index + 1, parts: spoken.length }),
	);
}

const hintUnjoined = ({ report }: Work, why: string) =>
	report.hint(
		`subtitles: ${why}`,
		`The subtitles of the parts of a speech could not be joined: ${why}. Speech → Wait with a single task ID fetches the subtitles of that part`,
	);

/** What the service says of all parts alike. */
function commonFields(spoken: Spoken[]): ServiceRecord {
	const [first, ...others] = spoken.map(spokenFields);
	const isCommon = ([key, value]: [string, unknown]) =>
		key !== 'audio_url' &&
		others.every((fields) => JSON.stringify(fields[key]) === JSON.stringify(value));
	return Object.fromEntries(Object.entries(first!).filter(isCommon));
}

const sumOf = (sizes: number[]) => sizes.reduce((sum, size) => sum + size, 0);

/** The files of all parts as one in n8n's storage, with their subtitles, or why they can't be. */
async function join(
	work: Work,
	spoken: Spoken[],
	files: IBinaryData[],
	id: string,
): Promise<{ file: IBinaryData; subtitles?: IBinaryData } | { why: string }> {
	const { helpers } = work.context;
	const sounds = await Promise.all(
		files.map(async (file) => ({
			bytes: await sizeOfStored(helpers, file),
			read: async () => await readStored(helpers, file),
		})),
	);
	const release = await memory().acquire(sumOf(sounds.map(({ bytes }) => bytes)), work.signal);
	try {
		const joined = await joinAudio(sounds);
		if ('why' in joined) return joined;
		// Where n8n keeps files in memory, those of the parts are not needed any more.
		for (const file of files) if (file.id === undefined) file.data = '';
		const file = await store(joined);
		return { file, subtitles: await subtitlesOf(joined.startsMs) };
	} finally {
		release();
	}

	/** Those that there are; a hint says why they can't be joined. */
	async function subtitlesOf(startsMs: number[]): Promise<IBinaryData | undefined> {
		const there = spoken.flatMap(({ subtitles }, index) =>
			subtitles ? [{ file: subtitles, startMs: startsMs[index]! }] : [],
		);
		if (there.length === 0) return undefined;
		const sizes = await Promise.all(
			there.map(async ({ file }) => await sizeOfStored(helpers, file)),
		);
		if (sumOf(sizes) > MAX_JOINED_SUBTITLES_BYTES) {
			const megabytes = MAX_JOINED_SUBTITLES_BYTES / 1024 / 1024;
			return void hintUnjoined(work, `together they have more than ${megabytes} MB`);
		}
		const texts = there.map(async ({ file, startMs }) => {
			return { text: (await readStored(helpers, file)).toString(), startMs };
		});
		const joined = joinSubtitles(await Promise.all(texts));
		if ('why' in joined) return void hintUnjoined(work, joined.why);
		return await store({ ...joined, bytes: Buffer.from(joined.text) });
	}

	async function store({ bytes, mimeType, extension }: FileType & { bytes: Buffer }) {
		const name = fileNameOf('speech', work.credential.redact.text(id), extension);
		return await helpers.prepareBinaryData(bytes, name, mimeType);
	}
}
