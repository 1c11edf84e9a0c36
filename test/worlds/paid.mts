import { takesImages } from '../service/operations.mts';
import { count, idsIn, type Lineage, moreThan, type Trace } from './trace.mts';

/** Returns why an execution, or one of its items, has failed. */
export const errorOf = ({ error, outputs }: Lineage['ended'][number]) =>
	error ?? outputs.find(({ json }) => json.error)?.json.error;

const isAscending = (numbers: number[]) =>
	numbers.every((number, index) => number >= (numbers[index - 1] ?? -1));

/** 1. There is at most one paid request per item and attempt; a retry collects what was paid for. */
export function* paidOnce({ plan, attempts, paid }: Lineage, { jobs }: Trace): Iterable<string> {
	for (const [text, sameText] of Map.groupBy(paid, (one) => one.text!)) {
		const countIn = (items: string[]) => count(items, (item) => item.includes(text));
		for (const { attempt, texts } of attempts)
			if (count(sameText, (one) => one.attempt === attempt) > countIn(texts))
				yield `more than one paid request for "${text}" in attempt ${attempt}`;
		const failed = count(jobs, (job) => job.text === text && !!job.failureAnnounced);
		// If the call of one of two equal rows was never accepted, that row may get the files of the other, which is then
		// requested again.
		const areEqual = countIn(plan.items) > 1;
		const counted = count(sameText, (one) => !areEqual || !one.isIndeterminate);
		if (counted > countIn(plan.items) + failed) yield `"${text}" is paid for again`;
	}
	const maxPaid = Number(plan.options.maxPaidPerExecution ?? 0) || Infinity;
	yield* moreThan(maxPaid, paid, ({ execution }) => `paid in ${execution}`);
}

/** 2. Each item gets its own files, in the order of the items and their parts. */
export function* ownFile(
	{ plan, ended, requests, jobs: ownJobs }: Lineage,
	{ jobs }: Trace,
): Iterable<string> {
	const { items, onError, operation } = plan;
	for (const { outputs, status, at } of ended) {
		const textOf = (fileId: string) =>
			jobs.find(
				({ finished }) => finished && finished.at <= at && finished.fileIds.includes(fileId),
			)?.text ?? '?';
		const used = outputs.flatMap(({ fileIds }) => fileIds);
		yield* moreThan(1, used, (fileId) => fileId);
		for (const text of status === 'success' ? items : [])
			if (count(outputs, (one) => one.text === text) < count(items, (one) => one === text))
				yield `nothing comes out of "${text}"`;
		const good = outputs.filter(({ json }) => json.error === undefined);
		if (good.length < outputs.length && onError === 'stopWorkflow')
			yield 'it goes on after an error';
		if (!isAscending(good.map(({ text }) => items.indexOf(text)))) yield 'items in disorder';
		for (const { text, fileIds, json, fields } of status === 'success' ? good : []) {
			const idsInJson = idsIn(JSON.stringify(json));
			for (const fileId of [...fileIds, ...idsInJson])
				if (!text.includes(textOf(fileId))) yield `${fileId} at the item "${text}"`;
			// A file of another client with the same text may come out only if the item's own result was lost for good.
			const isOfOtherClient =
				operation !== 'speech:wait' &&
				fileIds.some(
					(fileId) => !ownJobs.some(({ finished }) => finished?.fileIds.includes(fileId)),
				);
			const isOwnUnused = ownJobs.some((job) => {
				// Without an announced id, the file of an equal request of another process cannot be told apart.
				const isRecognizable = takesImages(operation) || job.isAnnounced;
				return (
					job.text === text &&
					job.finished &&
					isRecognizable &&
					!used.includes(job.finished.fileIds[0]!)
				);
			});
			const isLost = requests.some((sent) => sent.isIndeterminate && sent.text === text);
			if (isOfOtherClient && isOwnUnused && !isLost)
				yield `somebody else's ${fileIds} at "${text}"`;
			if (!fields.includes('data') || !idsInJson.every((fileId) => fileIds.includes(fileId)))
				yield `of ${idsInJson} only ${fileIds} come out`;
			if (!isAscending(fileIds.map((fileId) => text.indexOf(textOf(fileId)))))
				yield `parts in disorder: ${fileIds}`;
		}
	}
}

/** 3. What is paid for is delivered or named. */
export function* deliveredOrNamed(lineage: Lineage, { of }: Trace): Iterable<string> {
	const { ended, stopped, plan, name } = lineage;
	const outputs = ended.flatMap((line) => line.outputs);
	const delivered = new Set(outputs.flatMap(({ fileIds }) => fileIds));
	// An error names only the first few results, and says how many more there are. n8n's log names all that have an id.
	const isShortened = stopped !== undefined || / more\b/.test(ended.map(errorOf).join());
	const shown = of('shown').filter(({ execution, process }) =>
		execution ? execution.startsWith(name) : isShortened && process === lineage.process,
	);
	const texts = JSON.stringify([...shown, ...ended]);
	const isNamed = (id: string) => new RegExp(`${id}(?![-\\d])`).test(texts);
	for (const { id, text, request, finished, isAnnounced, failureAnnounced } of lineage.jobs) {
		// A killed process could name nothing.
		if (!ended.some(({ execution }) => execution === request!.execution)) continue;
		// A job with several files that are not ready yet is named by the ids of its files.
		if (!finished && isNamed(`${id}-1`)) continue;
		const missing = finished?.fileIds.filter((fileId) => !delivered.has(fileId)) ?? [id];
		// If the item of the job has failed, its own error has to hint at the charge.
		const errors = outputs.filter((one) => one.json.error && one.text.includes(text));
		const hints = errors.length > 0 && !isShortened ? JSON.stringify(errors) : texts;
		const isHinted = /paid|charged|history/i.test(hints) && (!isAnnounced || isShortened);
		if (!failureAnnounced && !isHinted && !isNamed(id) && !missing.every(isNamed))
			yield `nobody says what became of ${id} ("${text}")`;
	}
	for (const { fileIds, fields } of plan.options.subtitles ? outputs : []) {
		const isExplained = /subtitle/i.test(JSON.stringify(shown));
		if (fileIds.length > 0 && !fields.includes('subtitles') && !isExplained)
			yield `no subtitles with ${fileIds}`;
	}
}
