import type { Given, Line, Of } from './ledger.mts';

export type Book = ReturnType<typeof bookOf>;
/** An execution with its retries: all that was done for it. */
export type Family = Book['families'][number];

/** What goes wrong for so many ms is how this service is. */
const LASTING = 3_600_000;

const rootOf = (execution: string) => execution.replace(/( again)+$/, '');

/** A ledger, looked up. */
export function bookOf(lines: Line[]) {
	const of = <What extends Line['what']>(what: What) =>
		lines.filter((line): line is Of<What> & Line => line.what === what);
	const [told, made, failed, killed] = [of('told'), of('made'), of('failed'), of('killed')];
	const answers = new Map(of('answer').map((line) => [line.n, line]));
	const executions = new Map(of('attempt').map((line) => [line.attempt, line.execution]));
	const charged = new Set(of('charge').map(({ n }) => n));
	const requests = of('request').map((line) => {
		const { n, method, attempt = 0 } = line;
		const { status = 0, at: answeredAt = Infinity } = answers.get(n) ?? {};
		// The service may have accepted it all the same.
		const isUnclear = method === 'POST' && (status === 0 || status >= 500) && !charged.has(n);
		const execution = executions.get(attempt) ?? '';
		return { ...line, status, answeredAt, isUnclear, execution };
	});
	/** What was ordered, and what came of it; without a request it is somebody else's. */
	const works = of('charge').map((charge) => {
		const { id, n, text } = charge;
		const isOwn = (line: { id: string }) => line.id === id;
		const sent =
			requests.find((line) => line.n === n) ?? requests.find((line) => line.text === text);
		const isFailureTold = failed.some((line) => isOwn(line) && line.isTold);
		const ends = { made: made.find(isOwn), isFailed: failed.some(isOwn), isFailureTold };
		return { ...charge, ...ends, request: n === undefined ? n : sent, isTold: told.some(isOwn) };
	});
	const begins = Map.groupBy(of('begun'), (line) => rootOf(line.execution));
	const families = [...begins].map(([name, begun]) => {
		const isOwn = ({ execution }: { execution: string }) => rootOf(execution) === name;
		const { asked, at, process } = begun[0]!;
		const { operation, items, options } = asked;
		const own = works.filter(({ request }) => request && isOwn(request));
		const sent = requests.filter(isOwn);
		const usual = /speak|wait/.test(operation) ? 3600 : operation === 'create' ? 900 : 1800;
		return {
			...{ name, begun, asked, at, process, requests: sent, works: own },
			paid: [...own.map(({ request }) => request!), ...sent.filter(({ isUnclear }) => isUnclear)],
			...{ attempts: of('attempt').filter(isOwn), ended: of('ended').filter(isOwn) },
			stopped: of('stopped').find(isOwn),
			/** How long the node waits for one generation, in ms. */
			timeoutMs: Number(options.timeout ?? usual) * 1000,
			/** How many requests it takes to make all that is asked for, at most. */
			need: items.length * (options.splitLongerThan ? 3 : 1),
		};
	});
	/** All that a trigger may tell, and when it happened. */
	const events = [
		...made.flatMap(({ at, id, marks }) => {
			const isSpeech = id.startsWith('speech');
			const all = isSpeech ? [`completed ${id}`] : marks.map((mark) => `generated ${mark}`);
			return all.map((event) => ({ at, id, event }));
		}),
		...failed.map(({ at, id }) => ({ at, id, event: `failed ${id}` })),
		...of('heard').map(({ at, id, percentage }) => {
			return { at, id, event: `progress ${id} ${percentage}` };
		}),
	];
	return {
		...{ lines, of, requests, works, events, faults: of('fault'), isKilled: killed.length > 0 },
		// What a killed process was at can't be asked of it.
		families: families.filter(({ ended, at: begun, process: own }) => {
			return ended.length > 0 || !killed.some(({ at, process }) => at >= begun && process === own);
		}),
		/** When all faults that end had ended. */
		calmFrom: Math.max(0, ...of('fault').map(({ ends }) => (ends < LASTING ? ends : 0))),
	};
}

/** The marks of files and the ids of tasks in a text. */
export const marksIn = (text: string) => text.match(/\b(?:speech|video|image)-[\d-]*\d/g) ?? [];

/** What an event tells: its kind, the task or the mark of the file, and how far it is. */
export function eventOf({ json: { event, task_id, file_url, process_percentage: done } }: Given) {
	const name = `${event} ${task_id ?? marksIn(String(file_url))[0]}`;
	return event === 'progress' ? `${name} ${done}` : name;
}

/** From when to when n8n listened for a trigger without a break. */
export function livesOf(trigger: string, lines: Line[]) {
	const lives: Array<Of<'published'> & { to: number }> = [];
	for (const line of lines) {
		if (line.what !== 'published' && line.what !== 'unpublished') continue;
		if (line.trigger !== trigger) continue;
		const last = lives.at(-1);
		if (last) last.to = Math.min(last.to, line.at);
		if (line.what === 'published' && !line.refused) lives.push({ ...line, to: Infinity });
	}
	return lives;
}

/** What a killed process of n8n has lost, in the words of docs/faults.md, which says where to find it. */
export function* lostBy(lines: Line[]): Iterable<string> {
	const { of, works, requests } = bookOf(lines);
	for (const { at, process } of of('killed')) {
		const given = JSON.stringify([of('ended'), of('started')]);
		const texts = JSON.stringify(of('said')) + given;
		const own = works.filter((work) => work.request?.process === process && work.at <= at);
		const again = requests.flatMap((line) => (line.at > at && line.text) || []);
		if (own.some(({ text }) => again.includes(text))) yield 'what the node remembers';
		if (own.some(({ id }) => !texts.includes(id))) yield 'the id of what was paid';
		const heard = of('heard').flatMap((line) => (line.at <= at ? line.id : []));
		const isMissed = of('made').some(({ id, at: madeAt }) => {
			return heard.includes(id) && madeAt > at - 1000 && !given.includes(`"task_id":"${id}"`);
		});
		const isWanted = of('published').some(({ wanted }) => wanted.events.includes('completed'));
		if (isWanted && isMissed) yield 'an event';
	}
}
