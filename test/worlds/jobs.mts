import type { MediaKind } from '../../nodes/shared/contract.ts';
import { wavHeader } from '../../simulator/media/wav.mts';
import { PAID_OPERATIONS } from '../service/operations.mts';
import { clock } from './clock.mts';
import type { Exchange } from './network.mts';
import type { Fault } from './world.mts';

/** For each kind of media: the extension and the first bytes of a file, and how long a job takes, in ms. */
export const KINDS: Record<
	MediaKind,
	{ extension: string; head: string | Buffer; minMs: number; maxMs: number }
> = {
	speech: { extension: 'wav', head: wavHeader(320), minMs: 2000, maxMs: 60_000 },
	video: {
		...{ extension: 'mp4', head: '\0\0\0\x18ftypisom\0\0\0\0isommp42' },
		...{ minMs: 30_000, maxMs: 150_000 },
	},
	image: { extension: 'png', head: '\x89PNG\r\n\x1a\n', minMs: 4000, maxMs: 40_000 },
};

/** Returns the kind of media that a create call to this path makes. */
export const kindOf = (path: string): MediaKind =>
	PAID_OPERATIONS.find((row) => path === row.path)?.kind ?? 'video';

/** What a client has ordered, and how it will go. */
export interface Order {
	/** The number of the request; undefined for another client's. */
	n?: number;
	prompt?: string;
	fileCount?: number;
	/** Why the job will fail; undefined if it will not. */
	failure?: string;
	/** True to fail within the first fifth of its time. */
	failsEarly?: boolean;
	/** Set if one of the files will be refused; 'id' if the client is told which one. */
	partly?: Fault['mode'];
}

/** A speech task or a generation that the service has accepted and charged. */
export type Job = ReturnType<typeof newJob>;

/**
 * Makes a job. `text` tells it from all others. With input images, it is the text in the image, and all jobs may have
 * the same prompt. The id of a file is its name, and is also in its bytes.
 */
export const newJob = (kind: MediaKind, text: string, id: string, order: Order) => {
	const { prompt = text, fileCount = 1, failure, partly } = order;
	const fileIds =
		fileCount > 1 ? Array.from({ length: fileCount }, (_, index) => `${id}-${index + 1}`) : [id];
	return {
		...{ kind, text, prompt, id, failure, startedAt: clock.now, status: 'processing' },
		...{ fileIds, refusedId: partly && fileIds[Math.floor(clock.now) % 2] },
		created_at: new Date().toISOString().replace('Z', '+00:00'),
		/** When it ended, in ms, and the stream of a generation that is open. */
		...({} as { endedAt?: number; stream?: Exchange }),
	};
};

/** Returns the URL of a file. With `ms`, it expires after that time. */
export const urlOf = (id: string, extension: string, ms?: number) =>
	`https://files.worlds.test/made/${id}.${extension}?s=${ms ? Math.round(clock.now + ms) : 's'}`;

/** Returns the items of a job, one for each file, as a stream or the history has them. */
export function itemsOf({ fileIds, refusedId, ...job }: Job, ms?: number) {
	const { prompt, kind: type, created_at } = job;
	return fileIds.map((id) => {
		const status = id === refusedId ? 'failed' : job.status;
		const file_url = status === 'completed' ? urlOf(id, KINDS[type].extension, ms) : '';
		return { id, prompt, type, status, created_at, file_url };
	});
}
