import type { IDataObject, INode, INodeExecutionData } from 'n8n-workflow';
import type { HistoryItem, RawStreamStep } from '../../simulator/simulator.mts';
import { node, sim, type Setting } from './setup';

/* What the tests of videos have in common. */

export const HISTORY = '/v1/video/histories';

/** A node that makes videos from a prompt; `more` are its other parameters. */
export const video = (prompt: string, options: IDataObject = {}, more: IDataObject = {}) =>
	node({ resource: 'video', operation: 'textToVideo', prompt, options, ...more });

/** The same, without downloading them, and with a short time limit unless `options` are given. */
export const quickVideo = (
	prompt: string,
	{ options = { timeout: 3 }, ...more }: IDataObject = {},
	extra: Partial<INode> = {},
) => ({
	...video(prompt, options as IDataObject, { download: false, ...more }),
	...extra,
});

/** An entry of the history that nobody has made here, later than what a test makes. */
export const made = (id: string, changes: Partial<HistoryItem> = {}): HistoryItem => ({
	id,
	prompt: 'P',
	type: 'video',
	file_url: `${sim.fileOrigin}/files/video/${id}.mp4`,
	status: 'completed',
	created_at: new Date(Date.now() + 5000).toISOString(),
	...changes,
});

/** Whatever is fetched is there. */
export const serveFiles = () => {
	const respond = { status: 200, headers: { 'Content-Type': 'video/mp4' }, body: 'a video' };
	sim.fault({ on: 'file', times: Infinity, action: { respond } });
};

export const event = (name: string, data: unknown) =>
	`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

export const completion = (data: unknown) => event('video_generation_complete', data);

/** What the next stream is, or that after so many others. */
export const raw = (sse: RawStreamStep[], after = 0) =>
	sim.fault({ method: 'POST', path: '/v1/video/', after, action: { sse } });

export const ids = (items: INodeExecutionData[]) => items.map(({ json }) => json.id ?? json.error);

/**
 * Another process has another memory of who has what; what is kept with the execution is the same.
 */
export const elsewhere = (): Setting => ({
	credential: { baseUrl: sim.baseUrl.replace('127.0.0.1', 'localhost') },
});
