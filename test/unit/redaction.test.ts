import type { INode } from 'n8n-workflow';
import { PaidSummary } from '../../nodes/MediaGeneration/paid/summary';
import { Failure, type FailureFacts } from '../../nodes/shared/failure';
import { toNodeError } from '../../nodes/shared/n8n/nodeErrors';
import { readAnswer } from '../../nodes/shared/parsing/failures';
import { GenerationEvents } from '../../nodes/shared/parsing/generationEvents';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { readSpeechTask } from '../../nodes/shared/parsing/responses';
import { valueOrFailure } from '../fuzz/check';

const TOKEN = 'tok_0123456789abcdef';
const redact = redactor(TOKEN);

describe('blanking the token out', () => {
	it('removes it wherever it stands in a value, keys and nested texts included', () => {
		const value = { a: [`x${TOKEN}y`, { [TOKEN]: 1 }], b: 2, c: null };
		expect(redact.value(value)).toEqual({ a: ['x*****y', { '*****': 1 }], b: 2, c: null });
	});

	it('removes it also where it is percent-encoded, as in an address', () => {
		const token = 'abc/+=def"g';
		const text = `wss://x/ws?token=${encodeURIComponent(token)} and ${token}`;
		expect(redactor(token).text(text)).toBe('wss://x/ws?token=***** and *****');
	});

	it('removes it also from an address within an address', () => {
		const token = 'abc/+=def"g';
		const text = `https://x/?next=${encodeURIComponent(`wss://x/ws?token=${encodeURIComponent(token)}`)}`;
		expect(redactor(token).text(text)).toMatch(/token%3D\*{5}$/);
	});

	it('is blanked out in letters of another case, as a status or a type is shown', () => {
		const token = 'Tok/0123456789ABCDEF';
		const text = `${token.toLowerCase()} is busy, ${encodeURIComponent(token).toUpperCase()} too`;
		expect(redactor(token).text(text)).toBe('***** is busy, ***** too');
	});

	it.each(['', 'a', 'ab', 'Bearer ', 'user:'])('is blanked out in base64, after %p', (before) => {
		for (const token of [TOKEN, 'ÿ?>key~~~/0123456']) {
			for (const after of ['', '!', '?!']) {
				const bytes = Buffer.from(before + token + after, 'utf8');
				for (const text of [bytes.toString('base64'), bytes.toString('base64url')]) {
					const left = redactor(token).text(`it got ${text}.`);
					expect(left).toMatch(/^it got .{0,12}\*{5}.{0,6}\.$/);
				}
			}
		}
	});

	it('is blanked out where a text was cut inside it', () => {
		expect(redact.text(`refused for ${TOKEN.slice(0, 17)} [item 0]`)).toBe(
			'refused for ***** [item 0]',
		);
		expect(redact.text(`…${TOKEN.slice(0, 12)}`)).toBe('…*****');
		const other = `${TOKEN.slice(0, 8)} begins like many`;
		expect(redact.text(other)).toBe(other);
	});

	it('is blanked out in JSON that writes some characters as a code', () => {
		const redacted = redactor('abc+<def"g/1').text(
			String.raw`{"a":"abc\u002B\u003Cdef\u0022g/1","b":"abc+\u003cdef\"g/1","c":"abc+<def\"g\/1"}`,
		);
		expect(redacted).toBe('{"a":"*****","b":"*****","c":"*****"}');
	});

	it('is blanked out whole, however long it is', () => {
		const token = 'abc/+=XYZ'.repeat(450);
		for (const form of [token, encodeURIComponent(token), Buffer.from(token).toString('base64')]) {
			expect(redactor(token).text(`a ${form} z`)).toBe('a ***** z');
		}
	});

	it('is blanked out beside dots, which alone are left as they are', () => {
		expect(redact.text('Wait for it…')).toBe('Wait for it…');
		expect(redact.text(`… and …${TOKEN}…`)).toBe('… and …*****…');
	});

	it('leaves values without it alone, whatever their kind', () => {
		const value = { a: 1, b: undefined };
		expect(redact.value(value)).toBe(value);
		expect(redact.value(undefined)).toBeUndefined();
	});

	it('does not break on a token of digits that a longer number contains', () => {
		expect(redactor('123456').value({ id: 91234567, note: 'key 123456' })).toMatchObject({
			note: 'key *****',
		});
	});
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
	const heard: unknown[] = [];
	const events = new GenerationEvents(source, (progress) => heard.push(progress));
	events.push(Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
	return [events.outcome, heard];
}
const paidFor = (id: string) => {
	const paid = new PaidSummary(redact);
	paid.surely(0, 'video', [id]);
	return paid.words();
};
/** Whatever cuts a text, and to how many characters. */
const CUTS: Array<[string, number, (text: string) => unknown]> = [
	[
		'the error in an answer',
		500,
		(error) => valueOrFailure(() => readAnswer(JSON.stringify({ error }), redact)),
	],
	['the error of a task', 500, (error) => taskOf({ status: 'error', error })?.message],
	['the status of a task', 200, (status) => taskOf({ status })?.status],
	['the error of a stream', 500, (error) => streamOf('error', { error })],
	['the status in a stream', 200, (status) => streamOf('status', { status })],
	['an error that nobody foresaw', 2000, (text) => wordsOf(new TypeError(text))],
	['the id of what is paid', 1500, (id) => ofFacts({ ids: [id] })],
	['the id of what may be paid', 1500, (id) => ofFacts({ candidates: [{ id }] })],
	['the address of what is paid', 300, paidFor],
];

describe('a text that is cut', () => {
	it.each(CUTS)('keeps nothing of a token that the end is in: %s', (_, most, show) => {
		const shown = (text: string) => JSON.stringify(show(text));
		expect(shown('x'.repeat(most + 1))).toContain('x…');
		for (let before = most - TOKEN.length; before < most; before++) {
			expect(shown(`${'x'.repeat(before)}${TOKEN} and more`)).not.toContain('tok');
		}
	});
});
