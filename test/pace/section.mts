import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('../../docs/bench.md', import.meta.url);
const TITLE = '## Undocumented limits';
const INTRODUCTION = `Written by \`npm run pace -- --write\`, in virtual time. 1000 items (fewer in some rows) are spread over processes that know neither each other nor the limit. They are compared with one process that knows the limit. “Charged” means that the service accepts too many requests and some of them fail, so the shares are those of what was generated. A figure is from one run, or the mean of five if the first one missed its goal. “In turns”: another client of the account uses the rest. On several processes, the shares differ by up to 10 percentage points from seed to seed. So do the losses of one process: where 15 at once are charged and fail late, 1.9 to 10.3 % in six runs. The simulated service counts the requests of the last second or minute. Processes that don’t know each other exceed such a limit by chance: many senders at random moments, of whose requests 10 % are refused, reach 27 % of the possible at 2 a second, and 52 % at 5 a second (Erlang’s loss formula). Where ten processes share 4 places, at least six have none, and ask every 40 s: a third of all requests.`;

/** What `npm run pace` has written into docs/bench.md. */
export const sectionOf = (text: string): string => TITLE + (text.split(TITLE)[1] ?? '');

/** Puts the table at the end of docs/bench.md, in place of the earlier one. */
export function writeSection(table: string[]): void {
	const [before = ''] = readFileSync(PAGE, 'utf8').split(TITLE);
	const section = [TITLE, '', INTRODUCTION, '', ...table].join('\n');
	writeFileSync(PAGE, `${before.trimEnd()}\n\n${section}\n`);
}
