import type { MediaKind } from '../../nodes/shared/contract.ts';
import { wavHeader } from '../../simulator/media/wav.mts';
import { PAID_OPERATIONS } from '../service/operations.mts';
import { clock } from './clock.mts';
import type { Exchange } from './network.mts';
import type { Fault } from './world.mts';

/** Of each kind the extension, how a file begins, and how long it takes to make one, in ms. */
export const KINDS: Record<
	MediaKind,
	{ type: string; head: string | Buffer; least: number; most: number }
> = {
	speech: { type: 'wav', head: wavHeader(320), least: 2000, most: 60_000 },
	video: { type: 'mp4', head: '\0\0\0\x18ftypisom\0\0\0\0isommp42', least: 30_000, most: 150_000 },
	image: { type: 'png', head: '\x89PNG\r\n\x1a\n', least: 4000, most: 40_000 },
};

export type Kind = MediaKind;
/** What a create call to this path makes. */
export const kindOf = (path: string): Kind =>
	PAID_OPERATIONS.find((row) => path === row.path)?.kind ?? 'video';
/** By which request, for how many files, and why it will fail; without a request it is somebody else's. */
export interface Order {
	n?: number;
	prompt?: string;
	amount?: number;
	failure?: string;
	/** It fails within the first fifth of its time. */
	isEarly?: boolean;
	/** One of its files is refused; 'id': its maker is told which. */
	partly?: Fault['as'];
}
export type Work = ReturnType<typeof workOf>;

/**
 * What is made from now on, and paid for; its marks are the names of its files, and in their bytes. `text`
 * tells one work from another; where pictures do, the same prompt goes with all.
 */
export const workOf = (kind: Kind, text: string, id: string, order: Order) => {
	const { prompt = text, amount = 1, failure, partly } = order;
	const marks = amount > 1 ? Array.from({ length: amount }, (_, at) => `${id}-${at + 1}`) : [id];
	return {
		...{ kind, text, prompt, id, failure, begun: clock.now, status: 'processing' },
		...{ marks, refused: partly && marks[Math.floor(clock.now) % 2] },
		created_at: new Date().toISOString().replace('Z', '+00:00'),
		/** When it had ended, in ms, and where whoever made a video or image is told. */
		...({} as { over?: number; stream?: Exchange }),
	};
};

/** The address of a file, which is signed for so many ms. */
export const addressOf = (id: string, type: string, ms?: number) =>
	`https://files.worlds.test/made/${id}.${type}?s=${ms ? Math.round(clock.now + ms) : 's'}`;

/** The elements that a stream or the history tells of a work. */
export function itemsOf({ marks, refused, ...work }: Work, ms?: number) {
	const { prompt, kind: type, created_at } = work;
	return marks.map((id) => {
		const status = id === refused ? 'failed' : work.status;
		const file_url = status === 'completed' ? addressOf(id, KINDS[type].type, ms) : '';
		return { id, prompt, type, status, created_at, file_url };
	});
}
