import type { INodeExecutionData, INodeProperties } from 'n8n-workflow';
import type { AbortInFlight, CallSignals, StopStarting } from '../../shared/async/callSignals';
import { withDeadline } from '../../shared/async/deadline';
import { msBeforeFinalRead } from '../../shared/async/pollUntil';
import type { GeneratedFile, MediaKind } from '../../shared/contract';
import { fileNames } from '../../shared/generation/entryFiles';
import { findInHistory, findRenewedFile } from '../../shared/generation/historySearch';
import type { MediaRequest } from '../../shared/generation/requestLedger';
import { Failure, throwWithFacts } from '../../shared/failure';
import { download } from '../../shared/http/download';
import { isInlineFile } from '../../shared/parsing/responses';
import {
	concurrencyField,
	downloadField,
	idleTimeoutField,
	maxPaidField,
	optionsField,
	outputField,
	timeoutField,
} from '../../shared/n8n/descriptions';
import type { JournalEntry } from '../paid/journal';
import type { GenerationOrder } from './generationOrder';
import { GenerationCall } from './generationCall';
import { requestStream } from './generationStream';
import { type BillableTask, type ItemContext, type ItemResult, toItemResult } from './operation';

/*
 * The code that all operations with a generation stream share: their fields, and the way from the create call to the
 * output items.
 */

/**
 * Returns the fields that every operation with a generation stream has: Download File and Options. `ownOptions` are the
 * options that only this operation has.
 */
export const generationFields = (
	kind: MediaKind,
	...ownOptions: INodeProperties[]
): INodeProperties[] => [
	downloadField,
	optionsField(
		concurrencyField,
		idleTimeoutField,
		maxPaidField,
		...ownOptions,
		outputField,
		timeoutField(kind),
	),
];

/**
 * Reads the options of one item, and returns the task that makes one output item per generated file. Throws a Failure
 * if an option is invalid.
 */
export function generationTask(item: ItemContext, order: GenerationOrder): BillableTask {
	const { context, credential, parameters } = item;
	const { kind } = order.generation;
	const timeoutMs = parameters.duration(timeoutField(kind));
	const idleTimeoutMs = parameters.duration(idleTimeoutField);
	const wantsFile = parameters.wantsFileAt(downloadField);
	const fileField = parameters.outputField();
	// There is only one create call, so its key needs no name.
	return { callKeys: [''], run };

	async function run([entry]: JournalEntry[]): Promise<ItemResult[]> {
		const isResumed = !entry!.needsCreateCall;
		return await withDeadline(timeoutMs, item.stopStarting, async (stopStarting) => {
			const request = await entry!.createOnce(
				stopStarting,
				async () => await finishedRequest(entry!, stopStarting),
			);
			// A file that cannot be downloaded must neither discard nor delay the others, which were charged as well.
			const outputs = fileNames(request.files).map(async (name, index) => {
				const file = request.files[index]!;
				return await toItemResult(fileOutput(request, file, name, isResumed, stopStarting));
			});
			return await Promise.all(outputs);
		});
	}

	/** Resolves with the request of the item and its final files (see `obtainFiles`). Throws a Failure if there is none. */
	async function finishedRequest(
		entry: JournalEntry,
		stopStarting: StopStarting,
	): Promise<MediaRequest> {
		const call = new GenerationCall(item, entry, order);
		// The rest of the item's time is reserved for a last read of the history and for the downloads.
		const streamTimeoutMs = msBeforeFinalRead(timeoutMs);
		const getFiles = async (abortInFlight: AbortInFlight) =>
			await obtainFiles(call, { stopStarting, abortInFlight });
		const filesPromise = withDeadline(streamTimeoutMs, item.abortInFlight, getFiles);
		const files = await filesPromise.catch((error: unknown) => {
			throw call.markFailed(error);
		});
		call.markFinished(files);
		return call.request;
	}

	/**
	 * Resolves with the files of the create call. They come from its stream. If the connection is lost, they come from
	 * the history, because the service still generates and charges them. If the journal has the request of an earlier
	 * attempt, the call is not sent again. Throws a Failure if there is no file.
	 */
	async function obtainFiles(call: GenerationCall, signals: CallSignals): Promise<GeneratedFile[]> {
		const result =
			call.readPreviousResult() ?? (await requestStream(item, order, call, signals, idleTimeoutMs));
		const { files, reason, interruptionReason } = result;
		if (files.length >= call.request.requestedCount) return files;
		call.markIncomplete(result);
		const failureIfMissing = signals.abortInFlight.aborted
			? new Failure('timedOut', { limitMs: timeoutMs, mayBeCharged: true })
			: (result.failure ?? new Failure('streamLost', { reason: reason ?? interruptionReason }));
		return await findInHistory(item.api, call.request, failureIfMissing, signals.stopStarting);
	}

	/**
	 * Makes the output item of one file, and downloads the file if the user wants it. `isResumed` is true if an earlier
	 * attempt has requested the file. Throws a Failure if the file cannot be downloaded.
	 */
	async function fileOutput(
		request: MediaRequest,
		originalFile: GeneratedFile,
		name: string,
		isResumed: boolean,
		signal: AbortSignal,
	): Promise<INodeExecutionData> {
		let file = originalFile;
		const renewUrl = async () =>
			(file = await findRenewedFile(item.api, request, originalFile, signal)).fileUrl;
		let binary: INodeExecutionData['binary'];
		if (wantsFile(originalFile.fileUrl)) {
			item.report.progress(`downloading the ${kind}`);
			const fileToFetch = { url: originalFile.fileUrl, kind, id: name, renewUrl };
			const filePromise = download(context, credential, fileToFetch, signal);
			const otherFiles = request.files.filter((other) => other !== originalFile);
			const otherFileUrls = otherFiles.map(({ fileUrl }) => fileUrl);
			binary = { [fileField]: await filePromise.catch(throwWithFacts({ otherFileUrls })) };
		} else if (isResumed || isInlineFile(originalFile.fileUrl)) {
			// A URL from an earlier attempt may have expired, and a model gets no file but a URL. Without a download, only
			// the history can give another one.
			await renewUrl();
		}
		return item.output({ ...file.raw, file_url: file.fileUrl }, binary);
	}
}
