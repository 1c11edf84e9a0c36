import type { INodeExecutionData, INodeProperties } from 'n8n-workflow';
import { withDeadline } from '../../shared/async/deadline';
import { beforeLast } from '../../shared/async/pollUntil';
import type { GeneratedFile, MediaKind, GenerationRequest } from '../../shared/contract';
import { fileNames } from '../../shared/generation/entryFiles';
import { findInHistory, findRenewed } from '../../shared/generation/historySearch';
import { Failure, type FailureFacts } from '../../shared/failure';
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
import type { StreamResult } from '../../shared/parsing/generationEvents';
import { GenerationRecord, type GenerationOrder } from './generationRecord';
import { requestStream, type StreamLimits } from './generationStream';
import { type ItemTask, type ItemResult, captureFailure } from './itemTask';
import type { ItemContext } from './itemContext';

/* What all operations with a generation stream share: fields, stream, history, download, items. */

/** The last fields of each; `more` are further options. */
export const generationFields = (
	kind: MediaKind,
	...more: INodeProperties[]
): INodeProperties[] => [
	downloadField,
	options(concurrency, idleTimeout, maxPaid, ...more, outputField, timeout(kind)),
];

/** The job of one generation. */
export function generationJob(item: ItemContext, order: GenerationOrder): ItemTask {
	const { canceled, context, credential, parameters, payments } = item;
	const kind = order.generation.makes;
	const timeoutMs = parameters.durationOption(timeout(kind));
	const idleMs = parameters.durationOption(idleTimeout);
	const isFileWanted = parameters.wantsFile(downloadField);
	const fileField = parameters.outputField();
	const [entry] = payments.entriesFor(parameters);

	return async () =>
		await withDeadline(timeoutMs, item.signal, async (signal) => {
			const request = await entry!.once(signal, async () => {
				const record = new GenerationRecord(item, entry!, order);
				const generating = withDeadline(beforeLast(timeoutMs), canceled, async (creating) => {
					return await generate(item, order, record, { signal, creating, idleMs, timeoutMs });
				});
				const files = await generating.catch((error: unknown) => {
					throw record.markFailed(error);
				});
				record.markMade(files);
				return record.request!;
			});
			const { files } = request;
			// One file that can't be fetched must not cost the others, which are paid for as well.
			const output: ItemResult[] = [];
			for (const [index, name] of fileNames(files).entries()) {
				output.push(await captureFailure(fileOutput(request, files[index]!, name, signal)));
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
 * The files of one create call: its stream tells of them, or, if that ends too early, the history, since
 * the generation goes on and is paid for. What an earlier attempt has sent is not sent again. Throws a
 * Failure.
 */
async function generate(
	item: ItemContext,
	order: GenerationOrder,
	record: GenerationRecord,
	limits: StreamLimits & { timeoutMs: number },
): Promise<GeneratedFile[]> {
	const {
		request: earlier,
		indeterminateBecause = 'an earlier attempt of this node lost the stream',
	} = record;
	const { files, interruptedBecause, reason, isEmpty, failure }: StreamResult = earlier
		? { ...earlier, interruptedBecause: indeterminateBecause }
		: await requestStream(item, order, record, limits);
	const { request } = record;
	if (files.length >= request!.requestedCount) return files;
	request!.reason = reason;
	record.markIncomplete(files, interruptedBecause, isEmpty);
	const late: FailureFacts = { limitMs: limits.timeoutMs, mayBeCharged: true };
	const failureIfMissing = limits.creating.aborted
		? new Failure('timedOut', late)
		: (failure ?? missingFailure());
	return await findInHistory(item.api, request!, failureIfMissing, limits.signal);

	/** Nothing has come; an earlier attempt may have heard an error. */
	function missingFailure(): Failure {
		if (reason !== undefined) return new Failure('generationFailed', { text: reason });
		const isLost = record.indeterminateBecause === undefined;
		return new Failure(isLost ? 'streamLost' : 'indeterminate', { text: interruptedBecause });
	}
}
