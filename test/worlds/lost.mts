import { bookOf } from './book.mts';
import type { Line } from './ledger.mts';

/** What a killed process of n8n has lost, in the words of docs/faults.md, which says where to find it. */
export function* lostBy(lines: Line[]): Iterable<string> {
	const { of, works, requests } = bookOf(lines);
	for (const { at, process } of of('killed')) {
		const given = JSON.stringify([of('ended'), of('started')]);
		const texts = JSON.stringify(of('said')) + given;
		const own = works.filter((work) => work.request?.process === process && work.at <= at);
		const again = requests.filter((line) => line.at > at && line.isPaid).map(({ text }) => text);
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
