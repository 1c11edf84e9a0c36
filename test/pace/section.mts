import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('../../docs/bench.md', import.meta.url);
const TITLE = '## Limits that nobody tells';
const INTRODUCTION = `Written by \`npm run pace -- --write\`, in virtual time: 1000 items (in some rows fewer), spread over processes that know nothing of each other or of the limit, are compared with one process that knows the limit. “Charged” means that too much is accepted and fails, so shares are of what was generated. A figure is one run with one seed, or the mean of five if the first run missed its goal: on several processes, the shares differ by up to 10 points from seed to seed.`;

/** What `npm run pace` has written into docs/bench.md. */
export const sectionOf = (text: string): string => TITLE + (text.split(TITLE)[1] ?? '');

/** Puts the table at the end of docs/bench.md, in place of the earlier one. */
export function writeSection(table: string[]): void {
	const [before = ''] = readFileSync(PAGE, 'utf8').split(TITLE);
	const section = [TITLE, '', INTRODUCTION, '', ...table].join('\n');
	writeFileSync(PAGE, `${before.trimEnd()}\n\n${section}\n`);
}
