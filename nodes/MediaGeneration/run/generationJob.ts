import type { INodeExecutionData, INodeProperties } from 'n8n-workflow';
import { withDeadline } from '../../shared/async/deadline';
import { type GeneratedFile, GENERATIONS, type MediaKind } from '../../shared/contract';
import { download } from '../../shared/http/download';
import { accountOf } from '../../shared/account';
import { claimsOf } from '../../shared/generation/claims';
import { HistoryReader } from '../../shared/generation/historyReader';
import { generate } from '../../shared/generation/generation';
import type { GenerationOrder } from '../../shared/generation/generationStream';
import { findAgain } from '../../shared/generation/historyRecovery';
import {
	concurrency,
	download as downloadField,
	idleTimeout,
	maxPaid,
	options,
	outputField,
	timeout,
} from '../../shared/n8n/descriptions';
import { recordFiles } from '../../shared/n8n/ownWork';
import { GenerationRecord } from './generationRecord';
import { NotMade, settled, type Job, type Made } from './job';
import type { Work } from './work';

/* What all operations with a generation stream share: fields, stream, history, download, items. */

type Order = Pick<GenerationOrder, 'generation' | 'aspectRatio' | 'prompt' | 'expected' | 'body'>;

/** The last fields of each; `more` are further options. */
export const generationFields = (
	kind: MediaKind,
	...more: INodeProperties[]
): INodeProperties[] => [
	downloadField,
	options(concurrency, idleTimeout, maxPaid, ...more, outputField, timeout(kind)),
];

/** The job of one generation. */
export function generationJob(work: Work, order: Order): Job {
	const { api, canceled, context, credential, parameters, paid, signal: stopped } = work;
	const kind = GENERATIONS[order.generation].makes;
	const timeoutMs = parameters.durationOption(timeout(kind));
	const idleMs = parameters.durationOption(idleTimeout);
	const isFileWanted = parameters.fileFlag(downloadField);
	const fileField = parameters.outputField();
	const history = accountOf(credential).shared(HistoryReader, api);
	const claims = claimsOf(credential);
	for (const left of paid.ofNode()) {
		if (left.state === 'made') claims.recall(left.asked, left.files, left.madeAt);
		else if (left.state !== 'task' && left.asked) claims.recall(left.asked);
	}
	const [kept] = paid.plan(parameters);

	return async () =>
		await withDeadline(timeoutMs, stopped, async (signal) => {
			const record = new GenerationRecord(work, kept!, kind);
			const files = await make(record, signal);
			// One file that can't be fetched must not cost the others, which are paid for as well.
			const output: Made[] = [];
			for (const [index, name] of namesOf(files).entries()) {
				output.push(await outputOf(record, files[index]!, name, signal));
			}
			return output;
		});

	async function make(record: GenerationRecord, signal: AbortSignal): Promise<GeneratedFile[]> {
		const { asked, files: had } = record.earlier ?? {};
		if (had && had.length >= order.expected) return had;
		const earlier = asked && { asked, files: had };
		const shared = stopped;
		const files = await withDeadline(timeoutMs, canceled, async (creating) => {
			const asking = { ...order, signal, creating, shared, idleMs, earlier, listener: record };
			return await recordFiles(work, generate(api, history, claims, asking));
		}).catch((error: unknown) => {
			throw record.failed(error);
		});
		record.done(files, order.expected);
		return files;
	}

	async function outputOf(
		{ earlier }: GenerationRecord,
		file: GeneratedFile,
		name: string,
		signal: AbortSignal,
	): Promise<Made> {
		const made = await settled(fileOutput(file, name, signal));
		const { asked, files = [] } = earlier ?? {};
		const isKept = files.some(({ fileUrl }) => fileUrl === file.fileUrl);
		if (!(made instanceof NotMade) || !asked || !isKept || signal.aborted) return made;
		// An address that was kept by an earlier attempt may have expired since.
		const search = { claims, asked, shared: stopped };
		const renewed = await findAgain(history, search, file);
		return renewed ? await settled(fileOutput(renewed, name, signal)) : made;
	}

	async function fileOutput(
		{ fields, fileUrl }: GeneratedFile,
		name: string,
		signal: AbortSignal,
	): Promise<INodeExecutionData> {
		const json = { ...fields, file_url: fileUrl };
		if (!isFileWanted) return work.output(json);
		work.report.progress(`downloading the ${kind}`);
		const file = { url: fileUrl, kind, id: name, justMade: true };
		const binary = await download(context, credential, file, signal);
		return work.output(json, { [fileField]: binary });
	}
}

/** Several files of one element share its id; saved to disk, none may overwrite another. */
function namesOf(files: GeneratedFile[]): string[] {
	const names: string[] = [];
	for (const { id, fileUrl } of files) {
		const wanted = id ?? fallbackId(fileUrl);
		let name = wanted;
		for (let number = 2; names.includes(name); number++) name = `${wanted}-${number}`;
		names.push(name);
	}
	return names;
}

/** The last part of an address's path without its extension, for a file without an id. */
function fallbackId(url: string): string {
	const last = new URL(url).pathname.split('/').filter(Boolean).pop() ?? 'file';
	return last.replace(/\.[a-z0-9]{1,5}$/i, '');
}
