import { NodeOperationError, type INode } from 'n8n-workflow';
import { Failure, type FailureFacts, type FailureKind } from '../../nodes/shared/failure';
import { wordingOf } from '../../nodes/shared/n8n/messages';
import { toNodeError } from '../../nodes/shared/n8n/nodeErrors';
import { redactor } from '../../nodes/shared/parsing/redaction';

const TOKEN = 'tok_0123456789abcdef';
const redact = redactor(TOKEN);
const node: INode = {
	id: 'n1',
	name: 'Media Generation',
	type: 'n8n-nodes-media-generation.mediaGeneration',
	typeVersion: 1,
	position: [0, 0],
	parameters: {},
};

/** Every kind, with the facts it usually comes with. */
const KINDS: Record<FailureKind, FailureFacts> = {
	invalidInput: { field: 'Text', text: 'is empty' },
	badImage: { field: 'Images, in Order', text: "No file in 'data'" },
	unreachable: { host: 'media.example.com', text: 'refused', transient: true },
	noAnswer: { host: 'media.example.com', transient: true },
	notTheService: { status: 200 },
	redirected: { host: 'https://other.example.com', status: 302 },
	tokenRefused: { status: 401, text: 'invalid_token' },
	outOfCredit: { status: 402, text: 'insufficient_credits' },
	rateLimited: { status: 429, retryAfterMs: 7000 },
	invalidVoice: { status: 400, text: 'invalid_voice_id' },
	notFound: { status: 404, text: 'Not found' },
	rejected: { status: 422, text: 'text too long' },
	unavailable: { status: 503, text: 'maintenance' },
	taskFailed: { text: 'no' },
	generationFailed: { text: 'UNSAFE_GENERATION' },
	tooLarge: { text: 'a list of more than 1000 pages' },
	unclear: { maybeAccepted: true },
	noAddress: { limitMs: 60_000 },
	badFile: { text: 'the file is empty', fileUrl: 'https://files.example.com/a.mp3' },
	streamLost: { text: 'nothing was heard for 300 s' },
	timedOut: { limitMs: 3_600_000, lastNews: 'processing, 57 %' },
	noWebSocket: {},
	noSocket: {},
	noHistory: { status: 404 },
	startsItself: {},
	canceled: {},
};
const kinds = Object.keys(KINDS) as FailureKind[];
const failure = (kind: FailureKind, facts: FailureFacts = {}) =>
	new Failure(kind, { ...KINDS[kind], ...facts });

describe('every kind of failure', () => {
	it.each(kinds)('says what happened, and what to do: %s', (kind) => {
		const { message, description } = wordingOf(failure(kind));
		for (const text of kind === 'canceled' ? [message] : [message, description]) {
			expect(text.length).toBeGreaterThan(10);
			expect(text).not.toMatch(/undefined|null|\[object|NaN/);
			expect(text).not.toMatch(/error|problem|failure/i);
		}
	});

	it('has words of its own', () => {
		const messages = kinds.map((kind) => wordingOf(failure(kind)).message);
		expect(messages).toEqual([...new Set(messages)]);
	});

	it.each(kinds)('names the task it is about, and how to collect its result: %s', (kind) => {
		const { message, description } = wordingOf(failure(kind, { taskId: 'task-4711' }));
		expect(message).toContain('task-4711');
		// A task that failed or does not exist cannot be collected.
		if (kind !== 'taskFailed' && kind !== 'notFound') {
			expect(description).toMatch(/Speech → Collect with task ID task-4711.*charged as a new task/);
		}
	});
});

describe('what a message says', () => {
	it.each([
		...(['tokenRefused', 'outOfCredit', 'invalidVoice'] as const),
		...(['rejected', 'generationFailed', 'taskFailed'] as const),
	])("repeats the service's own words: %s", (kind) => {
		expect(wordingOf(failure(kind, { text: 'xyz said so' })).message).toContain('xyz said so');
	});

	it.each(['taskFailed', 'generationFailed'] as const)(
		'does not blame the input when the service had too much to do: %s',
		(kind) => {
			const { description } = wordingOf(failure(kind, { text: 'Too many concurrent tasks' }));
			expect(description).toMatch(/^Set a lower 'Concurrency'.* charged as a new/);
		},
	);

	it('names the ids of what is paid, instead of saying that it may be', () => {
		const ids = Array.from({ length: 9 }, (_, index) => `video-${index}`);
		const { description } = wordingOf(failure('timedOut', { ids, maybeAccepted: true }));
		expect(description).toContain('as video-0, video-1, video-2, video-3, video-4.');
		expect(description).not.toMatch(/may have accepted/);
	});

	it.each([
		["one of n8n's own", new NodeOperationError(node, 'Referenced node does not exist')],
		['one that nobody foresaw', new TypeError('x is not a function')],
		['a cancel', failure('canceled')],
	])('adds what else is worth knowing to %s', (_, thrown) => {
		const error = toNodeError(thrown, { node, redact, note: `Item 1 goes on ${TOKEN}.` });
		expect(error.description).toBe('Item 1 goes on *****.');
	});
});

describe('for n8n', () => {
	it('words are kept although they contain an error code that n8n would put its own text for', () => {
		const failed = failure('rejected', { text: 'ECONNREFUSED 404 ETIMEDOUT' });
		const error = toNodeError(failed, { node });
		expect(error.message).toContain('ECONNREFUSED 404 ETIMEDOUT');
	});

	it("n8n's own errors keep their words and get the item", () => {
		const own = new NodeOperationError(node, "Referenced node doesn't exist");
		expect(toNodeError(own, { node, itemIndex: 2 })).toBe(own);
		expect(own.message).toBe("Referenced node doesn't exist");
		expect(own.context.itemIndex).toBe(2);
	});
});
