import type { INode } from 'n8n-workflow';
import { Failure, type FailureFacts } from '../../nodes/shared/failure';
import { toNodeError } from '../../nodes/shared/n8n/nodeErrors';
import { parseResponseBody } from '../../nodes/shared/parsing/errors';
import { GenerationEvents } from '../../nodes/shared/parsing/generationEvents';
import { combineRedactors, redactor } from '../../nodes/shared/parsing/redaction';
import { readSuccessRecord, readSpeechTask } from '../../nodes/shared/parsing/responses';
import { valueOrFailure } from '../fuzz/check';

const TOKEN = 'tok_0123456789abcdef';
const redact = redactor(TOKEN);

const ODD = 'abc/+=def"g';
const socket = `wss://x/ws?token=${encodeURIComponent(ODD)}`;
const CASED = 'Tok/0123456789ABCDEF';
const LONG = 'abc/+=XYZ'.repeat(450);
const HALF = 'h'.repeat(12) + '0123456789abcdefghijklmnopqrstuvwxyz';
const STARS = 'a*****b';
const HUGE = 'abc/+=XYZ'.repeat(2000);
// In keys and values, plain or encoded: test/fuzz/shown.test.ts.
it.each([
	['an address', ODD, `${socket} and ${ODD}`, 'wss://x/ws?token=***** and *****'],
	[
		'an address within an address',
		ODD,
		`https://x/?next=${encodeURIComponent(socket)}`,
		'https://x/?next=wss%3A%2F%2Fx%2Fws%3Ftoken%3D*****',
	],
	[
		'letters of another case, as a status or a type is shown',
		CASED,
		`${CASED.toLowerCase()} is busy, ${encodeURIComponent(CASED).toUpperCase()} too`,
		'***** is busy, ***** too',
	],
	[
		'JSON that writes some characters as a code',
		'abc+<def"g/1',
		String.raw`["abc\u002B\u003Cdef\u0022g/1","abc+\u003cdef\"g/1","abc+<def\"g\/1"]`,
		'["*****","*****","*****"]',
	],
	[
		'HTML that writes some characters as a code',
		"abc+<def'g&1",
		'abc&#43;&lt;def&#039;g&amp;1 and abc&#x2B;&#x3C;def&apos;g&#x26;1',
		'***** and *****',
	],
	['a text that was cut inside it', TOKEN, `…${TOKEN.slice(0, 12)} [item 0]`, '…***** [item 0]'],
	['only a text that has enough of it', TOKEN, `${TOKEN.slice(0, 8)} … and`, 'tok_0123 … and'],
	[
		'a text that was cut inside half of it',
		HALF,
		`${HALF.slice(0, 24)} … ${HALF.slice(0, 23)} …`,
		`***** … ${HALF.slice(0, 23)} …`,
	],
	[
		'a text that was cut inside a long one',
		LONG,
		`${LONG.slice(0, 500)} … ${LONG.slice(0, 499)} …`,
		`***** … ${LONG.slice(0, 499)} …`,
	],
	['a text about a token of six characters', 'abc123', 'No abc123 here', 'No ***** here'],
	['no text about a shorter one, which may be a word', 'voice', 'No voice here', 'No voice here'],
	['a text in which a mask of asterisks would form it again', STARS, `a${STARS}b`, 'a•••••b'],
	['all of one that no regular expression can hold', HUGE, `a ${HUGE} z`, 'a ***** z'],
	['all of a long one', LONG, `a ${LONG} ${encodeURIComponent(LONG)} z`, 'a ***** ***** z'],
])('the token is removed from %s', (_, token, text, left) => {
	expect(redactor(token).text(text)).toBe(left);
});

test('what is no text stays as it is', () => {
	const value = { n: 1, yes: true, none: null, list: [0, null] };
	expect(redact.value(value)).toEqual(value);
});

const node = { name: 'Media Generation', parameters: {} } as INode;
const source = { baseUrl: 'https://media.example.com', redact };
const taskOf = (fields: object) => readSpeechTask({ id: 1, ...fields }, source);
const wordsOf = (error: unknown) => {
	const { message, description } = toNodeError(error, { node, redact });
	return `${message} ${description}`;
};
const ofFacts = (facts: FailureFacts) => wordsOf(new Failure('streamLost', facts));
function streamOf(name: string, data: object): unknown {
	const received: unknown[] = [];
	const events = new GenerationEvents(source, 'video', (progress) => received.push(progress));
	events.push(Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
	return [events.outcome, received];
}
/** Whatever cuts a text, and to how many characters. */
it.each<[string, number, (text: string) => unknown]>([
	[
		'the error in an answer',
		500,
		(error) =>
			valueOrFailure(() => parseResponseBody(JSON.stringify({ error }), redact, readSuccessRecord)),
	],
	['the error of a task', 500, (error) => taskOf({ status: 'error', error })?.reason],
	['the status of a task', 500, (status) => taskOf({ status })?.status],
	['the error of a stream', 500, (error) => streamOf('error', { error })],
	['the status in a stream', 500, (status) => streamOf('status', { status })],
	['an error that nobody foresaw', 2000, (text) => wordsOf(new TypeError(text))],
	['the id of what is paid', 1500, (id) => ofFacts({ announcedIds: [id] })],
	['the id of what may be paid', 1500, (id) => ofFacts({ candidates: [{ id }] })],
])('a text that is cut keeps nothing of a token that the end is in: %s', (_, limit, show) => {
	const shown = (text: string) => JSON.stringify(show(text));
	expect(shown('x'.repeat(limit + 1))).toContain('x…');
	for (let before = limit - TOKEN.length; before < limit; before++) {
		expect(shown(`${'x'.repeat(before)}${TOKEN} and more`)).not.toContain('tok');
	}
});

it('what is said of several accounts shows the token of none', () => {
	const both = combineRedactors([redactor('token-of-ada'), redactor('token-of-bob')]);
	expect(both.text('token-of-bob, token-of-ada')).toBe('*****, *****');
	expect(both.value({ text: ['token-of-bob'] })).toEqual({ text: ['*****'] });
});
