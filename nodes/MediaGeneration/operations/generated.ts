import type { INodeExecutionData } from 'n8n-workflow';
import { startDeadline } from '../../service/clock';
import type { GeneratedFile } from '../../service/contract';
import { download } from '../../service/download';
import { Failure } from '../../service/failure';
import { generate } from '../../service/generation';
import type { Generation } from '../../service/requests';
import type { Fields } from '../fields';
import type { Item, Job } from '../run';

/** What all operations that make videos or images share: stream, history, download, items. */

export interface GenerationFields {
	/** Seconds for the whole generation. */
	timeout: number;
	/** Seconds of silence on the stream. */
	idleTimeout: number;
	download: boolean;
	outputField: string;
}

export function readGenerationFields(fields: Fields, timeout: number): GenerationFields {
	const seconds = { min: 1, max: 86_400 * 7 };
	return {
		timeout: fields.numberOption('timeout', 'Timeout', timeout, seconds),
		idleTimeout: fields.numberOption('idleTimeout', 'Idle Timeout', 300, seconds),
		download: fields.flag('download', true),
		outputField: fields.outputField(),
	};
}

export interface Order {
	generation: Generation;
	kind: 'video' | 'image';
	/** As sent; '' when none is. */
	prompt: string;
	/** Files asked for. */
	expected: number;
	/** What tells this request from another of the same item, for a retry. */
	identity: unknown;
	body(): Promise<Buffer>;
	options: GenerationFields;
}

/** Makes the job of one generation. */
export function generationJob(item: Item, order: Order): Job {
	const { run, requests } = item;
	const { options, kind } = order;

	return async () => {
		const key = run.memory.keyOf(item.index, [order.generation, order.identity]);
		const deadline = startDeadline(options.timeout, run.stopped);
		try {
			const files = await make(key, deadline.signal);
			if (files.length < order.expected) {
				item.hint('fewer', `The service made fewer files than asked for`);
			}
			// One after the other in order, so that a failing one names its own address.
			const output: INodeExecutionData[] = [];
			for (const file of files) output.push(await fileOutput(file, deadline.signal));
			return output;
		} finally {
			deadline.stop();
		}
	};

	async function make(key: string, signal: AbortSignal): Promise<GeneratedFile[]> {
		const remembered = run.memory.recall(key);
		if (remembered?.files) {
			item.hint('resumed', 'Took the result of an earlier try instead of paying for a new one');
			return remembered.files;
		}
		let said = '';
		const files = await generate(requests, run.history, {
			generation: order.generation,
			prompt: order.prompt,
			expected: order.expected,
			body: async () => await order.body(),
			signal,
			shared: run.stopped,
			idleMs: options.idleTimeout * 1000,
			earlier: remembered?.sentAt,
			onSend(began) {
				run.memory.keep(key, { sentAt: began });
				item.report(`asking for the ${kind}`);
			},
			onProgress({ status }) {
				if (status !== said) item.report(`${kind} ${status}`);
				said = status;
			},
			onLost(reason) {
				item.report(`${reason}; looking into the history for the ${kind}`);
				item.hint(
					'lost',
					`The service stopped reporting (${reason}), so the result was looked up in the history. It was not asked for a second time`,
				);
			},
		}).catch((error: unknown) => {
			// What was surely not accepted, or has failed, must be asked for anew by the next try.
			if (!mayStillCome(error)) run.memory.forget(key);
			throw error;
		});
		run.memory.keep(key, { files });
		item.report(`${kind} done`);
		return files;
	}

	async function fileOutput(
		generated: GeneratedFile,
		signal: AbortSignal,
	): Promise<INodeExecutionData> {
		const json = { ...generated.fields, file_url: generated.fileUrl };
		if (!options.download) return item.output(json);
		item.report(`fetching the ${kind}`);
		const id = generated.id ?? fallbackId(generated.fileUrl);
		const file = { url: generated.fileUrl, kind, id };
		const binary = await download(run.context, requests, file, signal);
		return item.output(json, { [options.outputField]: binary });
	}
}

function mayStillCome(error: unknown): boolean {
	if (!(error instanceof Failure)) return true;
	return (
		error.facts.maybeAccepted === true ||
		['streamLost', 'timedOut', 'canceled'].includes(error.kind)
	);
}

/** The last part of an address's path without its extension, for a file without an id. */
function fallbackId(url: string): string {
	const last = new URL(url).pathname.split('/').filter(Boolean).pop() ?? 'file';
	return last.replace(/\.[a-z0-9]{1,5}$/i, '');
}
