import { accountOf } from '../account';
import { LARGEST_PAGE } from '../api/pagination';
import { singleFlightOf, type Api } from '../api/api';
import type { Credential } from '../http/credential';
import type { Page } from '../parsing/responses';

interface ReadPage {
	page: Page;
	/** In ms since 1970. */
	readAt: number;
}

/** The history of an account as its triggers read it, again and again: one reading serves them all. */
export class HistoryPages {
	private first: ReadPage | undefined;

	/**
	 * One page (§4.9), the first being 1; that one may have been read up to `maxAgeMs` ago. Within the pace
	 * of those who look at what others do. Throws a Failure.
	 */
	async read(api: Api, page: number, maxAgeMs: number, signal: AbortSignal): Promise<ReadPage> {
		if (page === 1 && this.first && Date.now() - this.first.readAt < maxAgeMs) return this.first;
		const flights = singleFlightOf(api.credential);
		return await flights.share(`history ${page}`, signal, async (over) => {
			await api.rateLimit.waitForTurn('poll', Infinity, over);
			const readAt = Date.now();
			const found = await api.listHistory({ page, page_size: LARGEST_PAGE }, over);
			const read = { page: found, readAt };
			if (page === 1) this.first = read;
			return read;
		});
	}
}

/** What the triggers of an account in this process read of its history. */
export const historyPagesOf = (credential: Credential): HistoryPages =>
	accountOf(credential).part(HistoryPages, () => new HistoryPages());
