import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Dialect, dialectOf } from '../../simulator/dialect.mts';
import { isPaid, nameOf, OPERATIONS } from '../service/operations.mts';
import { MATRIX } from './matrix.mts';
import type { Row } from './row.mts';

/** What is lost if a process of n8n is killed (see `lostBy` of test/worlds/trace.mts), and where to find it. */
const LOST = {
	'what the node remembers':
		'n8n saves nothing about a node that is still running, so the second retry of the execution sends every request again (the first sends nothing, and says where to look)',
	'the ID of what was charged':
		"n8n's log names each speech task as soon as the service has responded; videos and images are in **History → Get Many**",
	'an event':
		"n8n saves a trigger's state only when an execution starts: a task that the trigger first detects after that, and that ends before n8n is back, is missed, unless you list it in **Task IDs**",
};

const HEAD = `# What can go wrong, and what happens then

This page lists everything that is known to go wrong with the service or on the way to it. To look up a message, see [When something goes wrong](messages.md). Each row is a test (\`test/faults\`) that runs in n8n's own engine against the simulated service. The page is generated from these tests.

- **The result** means that everything requested comes out, and that the files are identical to the service's.
- Quotations come from the message or its description or, if there is a result, from a hint; … stands for omitted words.
- **Sent** and **Paid** say how many create calls were sent, and how many of them were charged (–: the operation has none).
- Afterwards, no request, WebSocket or connection remains open, except where a row says so. The API token appears only in requests to the API, and not in the saved execution, a message, a log, or a file name.
`;

const KILLED = `## n8n is killed

\`npm run worlds -- --kills --seed 4 --count 100\` kills n8n before and after everything that it sends, receives, saves or starts, restarts it, and runs the interrupted executions again. Only this is lost:
`;

function lineOf(row: Row): string {
	const operations = OPERATIONS.filter((operation) => row.operations.includes(operation));
	const names = operations.map(nameOf).join(', ');
	const { fault, fails, hints } = row;
	const what = fails ? `Fails: “${fails}”` : `The result${hints ? `, with “${hints}”` : ''}`;
	const note = row.note ? `; ${row.note}` : '';
	const calls = operations.some(isPaid) ? [row.sent ?? 1, row.paid ?? 1] : ['–', '–'];
	const cells = [fault, names, what + note, ...calls];
	return `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
}

/** The document that the matrix makes. */
function document(): string {
	const tables = MATRIX.flatMap(({ title, rows }) => [
		`## ${title}`,
		'',
		'| Fault | Operations | What happens | Sent | Paid |',
		'| --- | --- | --- | --- | --- |',
		...rows.map(lineOf),
		'',
	]);
	const lost = Object.entries(LOST).map(([what, reason]) => `- **${what}**: ${reason}.`);
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

test('the matrix has each way in which deployments differ', () => {
	const differences = dialectOf((values) => values) as unknown as Record<string, unknown[]>;
	const tried = MATRIX.flatMap(({ rows }) => rows.map(({ service }) => service?.dialect ?? {}));
	const missing = Object.entries(differences).flatMap(([name, [, ...others]]) =>
		others
			.filter((value) => !tried.some((dialect) => dialect[name as keyof Dialect] === value))
			.map((value) => `${name}: ${value}`),
	);
	expect(missing).toEqual([]);
});
