import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MATRIX } from './matrix.mts';
import type { Row } from './row.mts';
import { isPaid, OPERATIONS, type Operation } from './stage.mts';

/** What is lost where a process of n8n is killed (test/worlds/ledger.mts), and where to find it. */
const LOST = {
	'what the node remembers':
		'n8n keeps nothing of a node that is at work: the execution, run again, sends every request again',
	'the id of what was paid':
		'the log of n8n names speech tasks once the service has answered; what it does not name, and every video and image, is in **History → Get Many**',
	'an event':
		'n8n keeps what a trigger remembers when it starts an execution: a task first heard of later that ends before n8n is back is missed, unless you name it in **Task IDs**',
};

/** What the operations are called in n8n. */
const NAMES: Record<Operation, string> = {
	'speech:speak': 'Text to Speech',
	'speech:get': 'Speech → Get',
	'speech:wait': 'Speech → Collect',
	'speech:delete': 'Speech → Delete',
	'voice:getAll': 'Voice → Get Many',
	'video:textToVideo': 'Text to Video',
	'video:ingredientsToVideo': 'Reference Images to Video',
	'video:framesToVideo': 'Image Sequence to Video',
	'image:create': 'Text to Image',
	'history:getAll': 'History → Get Many',
	'account:get': 'Account → Get',
};

const HEAD = `# What goes wrong, and what comes of it

This page is for developers, and for readers who want to know what the node does when something fails before they trust it with paid work. If you want to know what a message means, see [messages](messages.md).

It lists everything that is known to go wrong with the service and on the way to it. Each row is a test in n8n's own engine (\`test/faults\`), against the simulated service; this page is generated from the same table and checked against it.

- **The result** means that everything requested comes out, and that the files are the service's, byte by byte.
- Quotations come from the message, its description or, beside a result, a hint; … stands for the rest.
- **Sent** and **paid** count create calls, for operations that have one.
- Afterwards nothing is left open: no request, no WebSocket, no connection. The API token appears only in requests to the API, and not in the saved execution, a message, a log, or a file name.
`;

const KILLED = `## n8n is killed

\`npm run worlds -- --kills --seed 4 --count 100\` kills n8n before and after everything that it sends, receives, saves or starts, restarts it, and runs the interrupted executions again. Only this is lost:
`;

function lineOf(row: Row): string {
	const operations = OPERATIONS.filter((operation) => row.operations.includes(operation));
	const names = operations.map((operation) => NAMES[operation]).join(', ');
	const { fault, fails, hints } = row;
	const what = fails ? `Fails: “${fails}”` : `The result${hints ? `, with “${hints}”` : ''}`;
	const note = row.note ? `; ${row.note}` : '';
	const calls = operations.some(isPaid) ? [row.sent ?? 1, row.paid ?? 1] : ['–', '–'];
	const cells = [fault, names, what + note, ...calls, '0'];
	return `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
}

/** The document that the matrix makes. */
function document(): string {
	const tables = MATRIX.flatMap(({ title, rows }) => [
		`## ${title}`,
		'',
		'| Fault | Operations | What comes of it | Sent | Paid | Left open |',
		'| --- | --- | --- | --- | --- | --- |',
		...rows.map(lineOf),
		'',
	]);
	const lost = Object.entries(LOST).map(([what, why]) => `- **${what}**: ${why}.`);
	return [HEAD, ...tables, KILLED, ...lost, ''].join('\n');
}

const path = join(__dirname, '../../docs/faults.md');

test('docs/faults.md says what the matrix says (WRITE_DOCS=1 npm test -- document writes it)', () => {
	const text = document();
	if (process.env.WRITE_DOCS) writeFileSync(path, text);
	expect(readFileSync(path, 'utf8')).toBe(text);
});

test('every operation is in the matrix, and no fault is there twice', () => {
	const rows = MATRIX.flatMap((group) => group.rows);
	const used = new Set(rows.flatMap(({ operations }) => operations));
	expect([...used].sort()).toEqual([...OPERATIONS].sort());
	const names = rows.map(({ fault }) => fault);
	expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
