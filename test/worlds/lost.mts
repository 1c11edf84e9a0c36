import { bookOf } from './book.mts';
import type { Line } from './ledger.mts';

/** What is lost where a process of n8n is killed; docs/faults.md says where to find it. */
const LOST = ['what the node remembers', 'the id of what was paid', 'an event'] as const;

/** Which of these a killed process has lost. */
export function lostBy({ lines }: { lines: Line[] }): string[] {
	const { of, works, requests } = bookOf(lines);
	const [killed] = of('killed');
	if (!killed) return [];
	const { at, process } = killed;
	const given = JSON.stringify([of('ended'), of('started')]);
	const texts = JSON.stringify(of('said')) + given;
	const own = works.filter((work) => work.request?.process === process && work.at <= at);
	const isAgain = own.some(({ text, n }) =>
		requests.some((other) => other.n > n! && other.at > at && other.text === text),
	);
	const heard = new Set(of('heard').flatMap((line) => (line.at <= at ? line.id : [])));
	const missed = of('made').filter((made) => heard.has(made.id) && made.at > at - 1000);
	const isTold = ({ id }: { id: string }) => given.includes(`"task_id":"${id}"`);
	const isWanted = of('published').some(({ wanted }) => wanted.events.includes('completed'));
	const isMissed = isWanted && !missed.every(isTold);
	const isLost = [isAgain, own.some(({ id }) => !texts.includes(id)), isMissed];
	return LOST.filter((_, index) => isLost[index]);
}
