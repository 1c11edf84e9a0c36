import type { INodeExecutionData } from 'n8n-workflow';
import { startDeadline } from '../../shared/async/deadline';
import type { GeneratedFile } from '../../shared/contract';
import { download } from '../../shared/http/download';
import { Failure } from '../../shared/failure';
import { generate, mayStillCome, type GenerationOrder } from '../../shared/generation/generation';
import { GENERATIONS } from '../../shared/media';
import { download as downloadField, idleTimeout, timeout } from '../../shared/n8n/descriptions';
import { generatedBy } from '../../shared/n8n/origins';
import type { Item } from './item';
import { settled, type Job, type Made } from './job';
import { namesOf } from '../paid/summary';

/* What all operations with a generation stream share: stream, history, download, items. */

/** How many different status words are shown for one generation: the service has four. */
const MOST_WORDS = 50;
/** How many ids are named for one generation: it makes four files at most (§8). */
const MOST_IDS = 8;

type Order = Pick<GenerationOrder, 'generation' | 'aspectRatio' | 'prompt' | 'expected' | 'body'>;

/** The job of one generation. */
export function generationJob(item: Item, order: Order): Job {
	const { run, api, parameters } = item;
	const kind = GENERATIONS[order.generation].makes;
	const timeoutMs = parameters.durationOption(timeout(kind));
	const idleMs = parameters.durationOption(idleTimeout);
	const isFileWanted = parameters.download(downloadField.default);
	const outputField = parameters.outputField();
	item.planPaid();

	return async () => {
		const key = run.resume.requestKey(item.index);
		const deadline = startDeadline(timeoutMs, run.stopped);
		const creating = startDeadline(timeoutMs, run.canceled);
		try {
			const files = await make(key, deadline.signal, creating.signal);
			// One file that can't be fetched must not cost the others, which are paid for as well.
			const output: Made[] = [];
			const names = uniqueNames(files);
			for (const [index, file] of files.entries()) {
				output.push(await settled(fileOutput(file, names[index]!, deadline.signal)));
			}
			return output;
		} finally {
			deadline.stop();
			creating.stop();
		}
	};

	async function make(
		key: string,
		signal: AbortSignal,
		creating: AbortSignal,
	): Promise<GeneratedFile[]> {
		const remembered = run.resume.find(key);
		if (remembered?.files) {
			item.hint('resumed', 'Returned the result of an earlier attempt, at no extra charge');
			item.log.know({ channel: 'kept' });
			if (remembered.files.length >= order.expected) return remembered.files;
		}
		let { asked } = remembered ?? {};
		const said = new Set<string>();
		const say = (text: string) => {
			if (said.has(text) || said.size >= MOST_WORDS) return;
			said.add(text);
			item.tell(text);
		};
		const ids = new Set<string>();
		let isAccepted = remembered?.isAccepted === true || remembered?.files !== undefined;
		const accepted = () => {
			item.log.know({ ids: [...ids].join() || undefined });
			if (isAccepted) return;
			isAccepted = true;
			item.log.paid(kind);
			run.resume.save(key, { asked, isAccepted });
		};
		if (asked && !isAccepted) item.log.askedBefore();
		const asking: GenerationOrder = {
			...order,
			signal,
			creating,
			shared: run.stopped,
			idleMs,
			earlier: asked && { asked, files: remembered?.files },
			onAsked(now) {
				if (asked === undefined) {
					item.asked(kind);
					item.log.know({ channel: 'stream' });
				}
				asked = now;
				run.resume.save(key, { asked, isAccepted });
				say(`requesting the ${kind}`);
			},
			onRefused() {
				asked = undefined;
				item.refused(key);
			},
			onProgress({ status, id }) {
				if (id !== undefined && ids.size < MOST_IDS) ids.add(id);
				run.paid.surely(item.index, kind, [...ids]);
				accepted();
				say(`${kind} ${status}`);
			},
			onLost(reason) {
				item.log.know({ channel: 'history' });
				item.report(`${reason}; looking for the ${kind} in the history`);
				item.hint(
					'lost',
					`The service stopped reporting (${reason}), so the result was looked up in the history. It was not requested a second time`,
				);
			},
		};
		const files = await generatedBy(
			run.context,
			run.credential,
			async () => await generate(api, run.history, run.claims, asking),
			order,
		).catch((error: unknown) => {
			// What was definitely not accepted, or has failed, has to be asked for again by the next try.
			if (!mayStillCome(error)) {
				run.resume.remove(key);
				run.paid.not(item.index);
				if (asked && !isAccepted) item.log.refused();
				throw error;
			}
			throw error instanceof Failure ? error.with({ ids: [...ids] }) : error;
		});
		for (const { id } of files) if (id !== undefined) ids.add(id);
		accepted();
		run.resume.save(key, { asked, files, madeAt: Date.now() });
		run.paid.surely(item.index, kind, namesOf(files));
		if (files.length < order.expected) {
			const ofThese = `${files.length} of ${order.expected} files`;
			const isCut = asked?.cutAt !== undefined;
			const text = isCut
				? `Found ${ofThese}: the service stopped reporting before all were ready. The others have been charged and may still come: see History → Get Many`
				: 'The service generated fewer files than requested';
			item.hint(isCut ? `cut: ${ofThese}` : 'fewer', text);
		}
		item.report(`${kind} done`);
		return files;
	}

	async function fileOutput(
		{ fields, fileUrl }: GeneratedFile,
		name: string,
		signal: AbortSignal,
	): Promise<INodeExecutionData> {
		const json = { ...fields, file_url: fileUrl };
		if (!isFileWanted) return item.output(json);
		item.tell(`downloading the ${kind}`);
		const file = { url: fileUrl, kind, id: name, justMade: true };
		const binary = await download(run.context, run.credential, file, signal);
		return item.output(json, { [outputField]: binary });
	}
}

/** Several files of one element share its id; saved to disk, none may overwrite another. */
function uniqueNames(files: GeneratedFile[]): string[] {
	const names = new Set<string>();
	for (const { id, fileUrl } of files) {
		const wanted = id ?? fallbackId(fileUrl);
		let name = wanted;
		for (let number = 2; names.has(name); number++) name = `${wanted}-${number}`;
		names.add(name);
	}
	return [...names];
}

/** The last part of an address's path without its extension, for a file without an id. */
function fallbackId(url: string): string {
	const last = new URL(url).pathname.split('/').filter(Boolean).pop() ?? 'file';
	return last.replace(/\.[a-z0-9]{1,5}$/i, '');
}
