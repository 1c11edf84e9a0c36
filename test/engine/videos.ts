import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import type { FaultAction, RawStreamStep } from '../../simulator/simulator.mts';
import { ALWAYS, answer, onCreate, onFile } from './service';
import { video } from './setup';

/* What the tests of videos have in common. */

/** A video that is not downloaded, with a short time limit unless `options` are given. */
export const quickVideo = (
	prompt: string,
	{ options = { timeout: 3 }, ...more }: IDataObject = {},
) => video(prompt, options as IDataObject, { download: false, ...more });

/** Whatever is fetched is there. */
export const serveFiles = () =>
	onFile(answer(200, 'a video', { 'Content-Type': 'video/mp4' }), ALWAYS);

export const event = (name: string, data: unknown) =>
	`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

export const completion = (data: unknown) => event('video_generation_complete', data);

export const status = (data: unknown) => event('video_generation_status', data);

/** The next stream breaks off after it began; unless told otherwise, its generation is in the history by then. */
export const lose = (action: FaultAction = {}, which: { times?: number } = {}) =>
	onCreate(
		{
			sse: [status('starting'), status('processing'), { delayMs: 100 }, 'END'],
			finishesInHistoryAfterMs: 0,
			...action,
		},
		which,
	);

/** What the next stream is, or that after so many others. */
export const raw = (sse: RawStreamStep[], after = 0) => onCreate({ sse }, { after });

export const ids = (items: INodeExecutionData[]) => items.map(({ json }) => json.id ?? json.error);
