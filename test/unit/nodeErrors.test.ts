import { NodeApiError, NodeOperationError, type INode } from 'n8n-workflow';
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
	badImage: { field: 'Frames', text: "No file in 'data'" },
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
	noHistory: { status: 404 },
	startsItself: {},
	canceled: {},
};
const kinds = Object.keys(KINDS) as FailureKind[];
const failure = (kind: FailureKind, facts: FailureFacts = {}) =>
	new Failure(kind, { ...KINDS[kind], ...facts });

describe('every kind of failure', () => {
	it.each(kinds)('says what happened: %s', (kind) => {
		const { message } = wordingOf(failure(kind));
		expect(message.length).toBeGreaterThan(10);
		expect(message).not.toMatch(/undefined|null|\[object|NaN/);
	});

	it.each(kinds.filter((kind) => kind !== 'canceled'))('says what to do: %s', (kind) => {
		const { description } = wordingOf(failure(kind));
		expect(description.length).toBeGreaterThan(10);
		expect(description).not.toMatch(/undefined|null|\[object|NaN/);
	});

	it.each(kinds)('says something readable when no facts are known: %s', (kind) => {
		const words = wordingOf(new Failure(kind, { field: 'Text', text: 'is empty' }));
		expect(`${words.message} ${words.description}`).not.toMatch(/null|\[object|NaN/);
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
			expect(description).toMatch(/Speech → Wait with task ID task-4711.*charged as a new task/);
		}
	});

	it.each(kinds)('becomes an error of n8n with the item: %s', (kind) => {
		const words = wordingOf(failure(kind));
		const error = toNodeError(failure(kind), { node, itemIndex: 3 });
		expect(error instanceof NodeApiError || error instanceof NodeOperationError).toBe(true);
		expect(error.message).toBe(`${words.message} [item 3]`);
		expect(error.description).toBe(words.description);
		expect(error.context.itemIndex).toBe(3);
		expect(error.node.name).toBe('Media Generation');
	});

	it.each(kinds)('never holds the token, wherever the service echoes it: %s', (kind) => {
		const facts = {
			text: `bad key ${TOKEN}`,
			fileUrl: `https://files.example.com/a?token=${TOKEN}`,
			host: `${TOKEN}.example.com`,
			lastNews: TOKEN,
			taskId: `t-${TOKEN}`,
			candidates: [{ id: TOKEN, createdAt: TOKEN }],
			maybeAccepted: true,
		};
		const place = { node, itemIndex: 0, redact, note: TOKEN };
		expect(everything(toNodeError(failure(kind, facts), place))).not.toContain(TOKEN);
	});
});

/** All that n8n could store or show of an error. */
function everything(error: unknown, seen = new Set<unknown>()): string {
	if (typeof error !== 'object' || error === null || seen.has(error)) return String(error);
	seen.add(error);
	const held = error as Record<PropertyKey, unknown>;
	const parts = Reflect.ownKeys(held).map((key) => [String(key), everything(held[key], seen)]);
	return parts.flat().join('\n');
}

describe('what a message says', () => {
	it('names the field and what is wrong with it', () => {
		const { message, description } = wordingOf(failure('invalidInput'));
		expect(message).toBe("'Text' is empty");
		expect(description).toMatch(/Nothing was sent/);
	});

	it.each([
		'tokenRefused',
		'outOfCredit',
		'invalidVoice',
		'rejected',
		'generationFailed',
		'taskFailed',
	] as const)("repeats the service's own words: %s", (kind) => {
		expect(wordingOf(failure(kind, { text: 'xyz said so' })).message).toContain('xyz said so');
	});

	it.each(['taskFailed', 'generationFailed'] as const)(
		'does not blame the input when the service had too much to do: %s',
		(kind) => {
			const { description } = wordingOf(failure(kind, { text: 'Too many concurrent tasks' }));
			expect(description).toMatch(/^Set a lower 'Concurrency'.* charged as a new/);
		},
	);

	it('tells why a host is unreachable', () => {
		const messages = ['refused', 'host', 'certificate', 'blocked'].map(
			(text) => wordingOf(new Failure('unreachable', { host: 'h.example:8443', text })).message,
		);
		expect(new Set(messages).size).toBe(4);
		for (const message of messages) expect(message).toMatch(/^h\.example:8443 /);
	});

	it('says how long to wait when the service told it', () => {
		const waits = (facts = {}) => wordingOf(failure('rateLimited', facts)).description;
		expect(waits()).toContain('7 seconds');
		expect(waits({ retryAfterMs: 800 })).toContain('1 second,');
	});

	it('says how long was waited and what was last known', () => {
		const { message } = wordingOf(failure('timedOut', { taskId: '12' }));
		expect(message).toContain('3600 seconds');
		expect(message).toContain('processing, 57 %');
	});

	it('warns that an unanswered create call may have been charged', () => {
		for (const kind of ['noAnswer', 'unavailable', 'timedOut', 'canceled'] as const) {
			const unsure = wordingOf(failure(kind, { maybeAccepted: true }));
			expect(unsure.description).toMatch(/may have accepted/);
			expect(wordingOf(failure(kind)).description).not.toMatch(/may have accepted/);
		}
	});

	it('gives the address of a paid file that could not be downloaded', () => {
		expect(wordingOf(failure('badFile')).description).toContain('https://files.example.com/a.mp3');
	});

	it('lists the entries of the history that may be a lost result', () => {
		const candidates = [{ id: 'e1', createdAt: '2026-01-01T10:00:05Z' }, { id: 'e2' }];
		const { description } = wordingOf(failure('streamLost', { candidates }));
		expect(description).toContain('e1 (created 2026-01-01T10:00:05Z), e2');
	});

	it('names the ids of what is paid, instead of saying that it may be', () => {
		const ids = Array.from({ length: 9 }, (_, index) => `video-${index}`);
		const { description } = wordingOf(failure('timedOut', { ids, maybeAccepted: true }));
		expect(description).toContain('as video-0, video-1, video-2, video-3, video-4.');
		expect(description).not.toMatch(/may have accepted/);
	});

	it.each([
		["one of n8n's own", new NodeOperationError(node, 'Referenced node does not exist')],
		['one that nobody foresaw', new TypeError('x is not a function')],
	])('adds what else is worth knowing also to %s', (_, thrown) => {
		const error = toNodeError(thrown, { node, redact, note: `Item 1 goes on ${TOKEN}.` });
		expect(error.description).toBe('Item 1 goes on *****.');
	});

	it('adds what else is worth knowing', () => {
		const error = toNodeError(failure('canceled'), { node, note: 'Other items go on.' });
		expect(error.description).toContain('Other items go on.');
	});
});

describe('for n8n', () => {
	it('a fault of the input is no failure of the API', () => {
		for (const kind of ['invalidInput', 'taskFailed', 'generationFailed'] as const) {
			expect(toNodeError(failure(kind), { node })).toBeInstanceOf(NodeOperationError);
		}
		expect(toNodeError(failure('rejected'), { node })).toBeInstanceOf(NodeApiError);
	});

	it('the HTTP status is there for whoever looks for it', () => {
		expect(toNodeError(failure('rejected'), { node })).toMatchObject({ httpCode: '422' });
	});

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

	it('an error that nobody foresaw is an error of n8n, with the item', () => {
		const error = toNodeError(new TypeError('x is not a function'), { node, itemIndex: 1 });
		expect(error).toBeInstanceOf(NodeOperationError);
		expect(error.message).toContain('x is not a function');
		expect(error.context.itemIndex).toBe(1);
	});

	it('an error that nobody foresaw does not hold the token either', () => {
		const thrown = new Error(`request to ws://x?token=${TOKEN} failed`);
		const error = toNodeError(thrown, { node, itemIndex: 1, redact });
		expect(everything(error)).not.toContain(TOKEN);
	});
});
