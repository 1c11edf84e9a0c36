import { takesImages } from '../service/operations.mts';
import { beyond, type Book, count, type Family, marksIn } from './ledger.mts';

/** Why an execution failed, or one of its items. */
export const errorOf = ({ error, given }: Family['ended'][number]) =>
	error ?? given.find(({ json }) => json.error)?.json.error;
const isOrdered = (places: number[]) =>
	places.every((place, index) => place >= (places[index - 1] ?? -1));

/** 1. At most one paid request per item and attempt; a retry collects what was paid for. */
export function* paidOnce({ asked, attempts, paid }: Family, { works }: Book): Iterable<string> {
	for (const [text, own] of Map.groupBy(paid, (one) => one.text!)) {
		const mostFor = (items: string[]) => count(items, (item) => item.includes(text));
		for (const { attempt, texts } of attempts)
			if (count(own, (one) => one.attempt === attempt) > mostFor(texts))
				yield `more than one paid request for "${text}" in attempt ${attempt}`;
		const failed = count(works, (work) => work.text === text && !!work.failureTold);
		// Of equal rows, one whose call was never accepted may get the files of the other, which is requested again.
		const areEqual = mostFor(asked.items) > 1;
		const counted = count(own, (one) => !areEqual || !one.isUnclear);
		if (counted > mostFor(asked.items) + failed) yield `"${text}" is paid for again`;
	}
	const most = Number(asked.options.maxPaidPerExecution ?? 0) || Infinity;
	yield* beyond(most, paid, ({ execution }) => `paid in ${execution}`);
}

/** 2. Each item gets its own files, in the order of the items and their parts. */
export function* ownFile(
	{ asked, ended, requests, works: own }: Family,
	{ works }: Book,
): Iterable<string> {
	const { items, onError, operation } = asked;
	for (const { given, status, at } of ended) {
		const workOf = (mark: string) =>
			works.find(({ made }) => made && made.at <= at && made.marks.includes(mark));
		const textOf = (mark: string) => workOf(mark)?.text ?? '?';
		const used = given.flatMap(({ marks }) => marks);
		yield* beyond(1, used, (mark) => mark);
		for (const text of status === 'success' ? items : [])
			if (count(given, (one) => one.text === text) < count(items, (one) => one === text))
				yield `nothing comes out of "${text}"`;
		const good = given.filter(({ json }) => json.error === undefined);
		if (good.length < given.length && onError === 'stopWorkflow') yield 'it goes on after an error';
		if (!isOrdered(good.map(({ text }) => items.indexOf(text)))) yield 'items in disorder';
		for (const { text, marks, json, fields } of status === 'success' ? good : []) {
			const named = marksIn(JSON.stringify(json));
			for (const mark of [...marks, ...named])
				if (!text.includes(textOf(mark))) yield `${mark} at the item "${text}"`;
			// Only what was lost for good can't be told from what somebody else made of the same words.
			const isTheirs =
				operation !== 'speech:wait' &&
				marks.some((mark) => !own.some(({ made }) => made?.marks.includes(mark)));
			const isLeft = own.some(({ text: wanted, made, isTold }) => {
				// Nobody knows what an equal request of another process has made, unless an id was told.
				const isKnown = takesImages(operation) || isTold;
				return wanted === text && made && isKnown && !used.includes(made.marks[0]!);
			});
			const isLost = requests.some((sent) => sent.isUnclear && sent.text === text);
			if (isTheirs && isLeft && !isLost) yield `somebody else's ${marks} at "${text}"`;
			if (!fields.includes('data') || !named.every((mark) => marks.includes(mark)))
				yield `of ${named} only ${marks} come out`;
			if (!isOrdered(marks.map((mark) => text.indexOf(textOf(mark)))))
				yield `parts in disorder: ${marks}`;
		}
	}
}

/** 3. What is paid is delivered or named. */
export function* deliveredOrNamed(family: Family, { of }: Book): Iterable<string> {
	const { ended, stopped, asked, name } = family;
	const given = ended.flatMap((line) => line.given);
	const delivered = new Set(given.flatMap(({ marks }) => marks));
	// Beyond the first few, an error says how many more there are; n8n's log names what has an id.
	const isCounted = stopped !== undefined || / more\b/.test(ended.map(errorOf).join());
	const own = of('said').filter(({ execution, process }) =>
		execution ? execution.startsWith(name) : isCounted && process === family.process,
	);
	const texts = JSON.stringify([...own, ...ended]);
	const isNamed = (id: string) => new RegExp(`${id}(?![-\\d])`).test(texts);
	for (const { id, text, request, made, isTold, failureTold } of family.works) {
		// A process that was killed says nothing any more.
		if (!ended.some(({ execution }) => execution === request!.execution)) continue;
		// Files in the making are named one by one.
		if (!made && isNamed(`${id}-1`)) continue;
		const missing = made?.marks.filter((mark) => !delivered.has(mark)) ?? [id];
		// An item that has an error of its own is told so there.
		const errors = given.filter((one) => one.json.error && one.text.includes(text));
		const hints = errors.length > 0 && !isCounted ? JSON.stringify(errors) : texts;
		const isHinted = /paid|charged|history/i.test(hints) && (!isTold || isCounted);
		if (!failureTold && !isHinted && !isNamed(id) && !missing.every(isNamed))
			yield `nobody says what became of ${id} ("${text}")`;
	}
	for (const { marks, fields } of asked.options.subtitles ? given : [])
		if (marks.length > 0 && !fields.includes('subtitles') && !/subtitle/i.test(JSON.stringify(own)))
			yield `no subtitles with ${marks}`;
}
