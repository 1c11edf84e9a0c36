import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('../../docs/bench.md', import.meta.url);
const TITLE = '## Undocumented limits';
const INTRODUCTION = `Written by \`npm run pace -- --write\`, in virtual time. 1000 items (fewer in some rows) are spread over processes that know neither each other nor the limit. They are compared with one process that knows the limit. “Charged” means that the service accepts too many requests and some of them fail, so the shares are those of what was generated. A figure is from one run with one seed, or the mean of five runs if the first one missed its goal. “In turns”: another client of the account uses the rest. On several processes, the shares differ by up to 10 percentage points from seed to seed. Processes that don’t know each other meet in the same second by chance. Senders at random moments that reach 75 % of the possible are refused 29 % of their requests at 2 a second, 12 % at 5 a second, and 5 % at 10 a second (the excess of a Poisson distribution over the limit).`;

/** What `npm run pace` has written into docs/bench.md. */
export const sectionOf = (text: string): string => TITLE + (text.split(TITLE)[1] ?? '');

/** Puts the table at the end of docs/bench.md, in place of the earlier one. */
export function writeSection(table: string[]): void {
	const [before = ''] = readFileSync(PAGE, 'utf8').split(TITLE);
	const section = [TITLE, '', INTRODUCTION, '', ...table].join('\n');
	writeFileSync(PAGE, `${before.trimEnd()}\n\n${section}\n`);
}
