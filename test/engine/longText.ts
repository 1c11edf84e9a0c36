import type { IDataObject, INode } from 'n8n-workflow';
import { readWav } from '../../nodes/shared/audio/wav';
import { node, requests, sim, speech } from './setup';

/** Twelve sentences of 40 characters or a few more: with a limit of 50, twelve parts. */
export const SENTENCES = Array.from(
	{ length: 12 },
	(_, n) => `This is sentence ${String(n).padStart(2, '0')} of a long text, my dear.`,
);
export const TEXT = SENTENCES.join(' ');

export const split = (text = TEXT, options: IDataObject = {}, more: IDataObject = {}) =>
	speech(text, { splitLongerThan: 50, ...options }, more);

export const wait = (taskId: string, extra: Partial<INode> = {}) =>
	node({ resource: 'speech', operation: 'wait', taskId, options: { pollInterval: 1 } }, extra);

/** The texts that were sent, in the order of the whole one. */
export const sent = () =>
	requests('POST', '/v1/labs/task')
		.map(({ body }) => body.input as string)
		.sort();

/** The id of the task that speaks a sentence. */
export const idOf = (sentence: string) =>
	[...sim.tasks.values()].find(({ input }) => input === sentence)?.id;

/** All tasks, in the order of the text. */
export const ids = (): string[] => SENTENCES.map(idOf).filter((id) => id !== undefined);

/** The samples that the service made for some tasks. */
export const samplesOf = (taskIds: string[]): Buffer =>
	Buffer.concat(
		taskIds.flatMap((id) => readWav(sim.fileBytes(sim.tasks.get(id)!.audioUrl!)!)!.stretches),
	);
