import type { INodeExecutionData, INodeProperties } from 'n8n-workflow';
import type { AbortInFlight } from '../../shared/async/callSignals';
import { withDeadline } from '../../shared/async/deadline';
import { msBeforeFinalRead } from '../../shared/async/pollUntil';
import type { GeneratedFile, MediaKind, GenerationRequest } from '../../shared/contract';
import { fileNames } from '../../shared/generation/entryFiles';
import { findInHistory, findRenewed } from '../../shared/generation/historySearch';
import { Failure } from '../../shared/failure';
import { download } from '../../shared/http/download';
import {
	concurrency,
	download as downloadField,
	idleTimeout,
	maxPaid,
	options,
	outputField,
	timeout,
} from '../../shared/n8n/descriptions';
import { GenerationRecord, type GenerationOrder } from './generationRecord';
import { requestStream, type StreamLimits } from './generationStream';
import { type ItemTask, type ItemResult, captureFailure } from './itemTask';
import type { ItemContext } from './itemContext';

/* What all operations with a generation stream share: fields, stream, history, download, output items. */

/** The last fields of every operation with a generation stream. `more`: options that only one of them has. */
export const generationFields = (
	kind: MediaKind,
	...more: INodeProperties[]
): INodeProperties[] => [
	downloadField,
	options(concurrency, idleTimeout, maxPaid, ...more, outputField, timeout(kind)),
];

/**
 * Makes the task of one item: it sends the create call, waits for the files, and downloads them. One create
 * call may make several files, and each file becomes one output item. Call it once, in `prepare`. Throws a
 * Failure that names an option that is invalid.
 */
export function generationJob(item: ItemContext, order: GenerationOrder): ItemTask {
	const { context, credential, parameters, payments } = item;
	const kind = order.generation.makes;
	const timeoutMs = parameters.durationOption(timeout(kind));
	const idleMs = parameters.durationOption(idleTimeout);
	const isFileWanted = parameters.wantsFile(downloadField);
	const fileField = parameters.outputField();
	const [entry] = payments.entriesFor(parameters);

	return async () =>
		await withDeadline(timeoutMs, item.stopStarting, async (stopStarting) => {
			const request = await entry!.once(stopStarting, async () => {
				const record = new GenerationRecord(item, entry!, order);
				const createMs = msBeforeFinalRead(timeoutMs);
				const send = async (abortInFlight: AbortInFlight) => {
					const limits = { stopStarting, abortInFlight, idleMs, timeoutMs };
					return await generate(item, order, record, limits);
				};
				const generating = withDeadline(createMs, item.abortInFlight, send);
				const files = await generating.catch((error: unknown) => {
					throw record.markFailed(error);
				});
				record.markMade(files);
				return record.request;
			});
			const { files } = request;
			// A file that cannot be downloaded must not discard the others, which were charged as well.
			const output: ItemResult[] = [];
			for (const [index, name] of fileNames(files).entries()) {
				output.push(await captureFailure(fileOutput(request, files[index]!, name, stopStarting)));
			}
			return output;
		});

	async function fileOutput(
		request: GenerationRequest,
		generated: GeneratedFile,
		name: string,
		signal: AbortSignal,
	): Promise<INodeExecutionData> {
		let file = generated;
		const renew = async () =>
			(file = await findRenewed(item.api, request, generated, signal)).fileUrl;
		const fetch = async () => {
			item.report.progress(`downloading the ${kind}`);
			const { fileUrl: url } = generated;
			return await download(context, credential, { url, kind, id: name, renew }, signal);
		};
		const binary = isFileWanted ? { [fileField]: await fetch() } : undefined;
		return item.output({ ...file.raw, file_url: file.fileUrl }, binary);
	}
}

/**
 * Resolves with the files of one create call. They come from its stream. If the stream ends too early, the
 * service goes on and charges all the same, so the files are looked up in the history. If an earlier attempt
 * has sent the call, it is not sent again, and only the history is read. Throws a Failure.
 */
async function generate(
	item: ItemContext,
	order: GenerationOrder,
	record: GenerationRecord,
	limits: StreamLimits & { timeoutMs: number },
): Promise<GeneratedFile[]> {
	const result = record.previousResult ?? (await requestStream(item, order, record, limits));
	const { request } = record;
	const { files, reason, interruptedBecause } = result;
	if (files.length >= request.requestedCount) return files;
	record.markIncomplete(result);
	const { abortInFlight, stopStarting, timeoutMs } = limits;
	const failureIfMissing = abortInFlight.aborted
		? new Failure('timedOut', { limitMs: timeoutMs, mayBeCharged: true })
		: (result.failure ??
			new Failure(reason === undefined ? 'streamLost' : 'generationFailed', {
				text: reason ?? interruptedBecause,
			}));
	return await findInHistory(item.api, request, failureIfMissing, stopStarting);
}
