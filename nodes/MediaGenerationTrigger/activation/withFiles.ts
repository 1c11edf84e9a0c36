import type { INodeExecutionData } from 'n8n-workflow';
import { withDeadline } from '../../shared/async/deadline';
import { Failure } from '../../shared/failure';
import { wordingOf } from '../../shared/n8n/messages';

/** How long fetching the files of one item may take, in ms. */
const DOWNLOAD_MS = 3_600_000;

/**
 * The item with what `fetch` returns. If that fails, what the item reports was made all the same, and
 * its `error` says why there is no file. Never rejects.
 */
export async function withFiles(
	item: INodeExecutionData,
	signal: AbortSignal,
	fetch: (signal: AbortSignal) => Promise<NonNullable<INodeExecutionData['binary']>>,
): Promise<INodeExecutionData> {
	return await withDeadline(DOWNLOAD_MS, signal, fetch).then(
		(binary) => ({ ...item, binary }),
		(error: unknown) => {
			const failure = error instanceof Failure ? error : new Failure('badFile');
			return { json: { ...item.json, error: wordingOf(failure).message } };
		},
	);
}
