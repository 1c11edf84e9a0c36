import type { IDataObject } from 'n8n-workflow';
import type { WorkflowResult } from '../../demo/engine.mts';
import { readWav } from '../../nodes/MediaGeneration/audio/wav';
import { only } from './seen';
import { requests, tasks } from './service';
import { sim, speech, task } from './setup';

/** Twelve sentences of 40 characters or a few more: with a limit of 50, twelve parts. */
export const SENTENCES = Array.from(
	{ length: 12 },
	(_, n) => `This is sentence ${String(n).padStart(2, '0')} of a long text, my dear.`,
);
export const TEXT = SENTENCES.join(' ');

export const split = (text = TEXT, options: IDataObject = {}, more: IDataObject = {}) =>
	speech(text, { splitLongerThan: 50, ...options }, more);

export const wait = (taskId: string, options: IDataObject = {}) =>
	task('wait', taskId, { options: { pollInterval: 1, ...options } });

/** The texts that were sent, in the order of the whole one. */
export const sent = () =>
	requests('POST', '/v1/labs/task')
		.map(({ body }) => body.input as string)
		.sort();

/** The id of the task that speaks a sentence. */
const idOf = (sentence: string) => tasks().find(({ input }) => input === sentence)?.id;

/** All tasks, in the order of the text. */
export const ids = (): string[] => SENTENCES.map(idOf).filter((id) => id !== undefined);

/** The file is the sound that the service made for these tasks, one after another. */
export async function expectSound(result: WorkflowResult, taskIds: string[]) {
	const soundOfParts = (wav: Buffer) => readWav(wav)!.soundData;
	const joined = await result.bytes(only(result).binary!.data!);
	const parts = taskIds.map((id) => sim.fileBytes(sim.tasks.get(id)!.audioUrl!)!);
	// Jest takes minutes to show how large buffers differ.
	const made = Buffer.concat(parts.flatMap(soundOfParts));
	expect(Buffer.concat(soundOfParts(joined)).equals(made)).toBe(true);
}
