import { NodeApiError, NodeOperationError, type INode } from 'n8n-workflow';
import { Failure, type FailureFacts, type FailureKind } from '../../nodes/shared/failure';
import { wordingOf } from '../../nodes/shared/n8n/messages';
import { toNodeError } from '../../nodes/shared/n8n/nodeErrors';
import { redactor } from '../../nodes/shared/parsing/redaction';

const TOKEN = 'tok_0123456789abcdef';
const redact = redactor(TOKEN);
const node = { name: 'Media Generation', parameters: {} } as INode;

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
	unclear: { maybeAccepted: true, text: 'HTTP 502 at 14:03' },
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
const wordsOf = (kind: FailureKind, facts?: FailureFacts) => {
	const { message, description } = wordingOf(failure(kind, facts));
	return `${message}. ${description}`;
};

test.each(kinds)('%s: what happened, what to do, and which task it is about', (kind) => {
	const { message, description } = wordingOf(failure(kind));
	for (const text of kind === 'canceled' ? [message] : [message, description]) {
		expect(text.length).toBeGreaterThan(10);
		expect(text).not.toMatch(/undefined|null|\[object|NaN/);
	}
	const error = toNodeError(failure(kind), { node, itemIndex: 3 });
	expect(error instanceof NodeApiError || error instanceof NodeOperationError).toBe(true);
	expect(error).toMatchObject({ message: `${message} [item 3]`, description });
	expect(error.context.itemIndex).toBe(3);
	const ofTask = wordingOf(failure(kind, { taskId: 'task-4711' }));
	expect(ofTask.message).toContain('task-4711');
	// A task that failed or does not exist cannot be collected.
	if (kind !== 'taskFailed' && kind !== 'notFound') {
		const way = /Speech → Wait with task ID task-4711.*charged as a new task/;
		expect(ofTask.description).toMatch(way);
	}
});

test('each kind has words of its own', () => {
	const messages = kinds.map((kind) => wordingOf(failure(kind)).message);
	expect(messages).toEqual([...new Set(messages)]);
});

const NINE = Array.from({ length: 9 }, (_, index) => `video-${index}`);
const QUOTA = 'You exceeded your current quota, please check your plan and billing details.';
const BUSY = 'Too many concurrent tasks';
const ENTRIES = [{ id: 'e1', createdAt: '2026-01-01T10:00:05Z' }, { id: 'e2' }];

it.each<[FailureKind, FailureFacts, RegExp]>([
	...(['tokenRefused', 'outOfCredit', 'invalidVoice', 'rejected', 'unavailable'] as const).map(
		(kind): [FailureKind, FailureFacts, RegExp] => [kind, { text: 'xyz' }, /: xyz/],
	),
	['taskFailed', { text: BUSY }, /Set a lower 'Concurrency'.* charged as a new/],
	['generationFailed', { text: BUSY }, /Set a lower 'Concurrency'.* charged as a new/],
	['unreachable', { host: 'h.example:8443' }, /^h\.example:8443 refused/],
	['unreachable', { text: 'certificate' }, /certificate that n8n trusts/],
	['unreachable', { text: 'blocked' }, /security settings of this n8n/],
	['rateLimited', {}, /Wait 7 seconds/],
	['rateLimited', { retryAfterMs: 800 }, /Wait 1 second,/],
	[
		'rateLimited',
		{ text: QUOTA },
		/account: You exceeded your current quota.* Account → Get shows/,
	],
	['unclear', {}, /no clear response: HTTP 502 at 14:03/],
	['badFile', {}, /available at https:\/\/files\.example\.com\/a\.mp3/],
	['streamLost', {}, /still be running, and has been charged/],
	['streamLost', { maybeAccepted: true }, /^(?!.*has been charged).*may have been charged/],
	['streamLost', { candidates: ENTRIES }, /e1 \(created 2026-01-01T10:00:05Z\), e2/],
	[
		'timedOut',
		{ ids: NINE, maybeAccepted: true },
		/^(?!.*may have accepted).* as video-0, video-1, video-2, video-3, video-4\./,
	],
])('%s with %j says so', (kind, facts, said) => {
	expect(wordsOf(kind, facts)).toMatch(said);
});

it.each<[unknown, string]>([
	[new NodeOperationError(node, 'Referenced node does not exist'), 'Item 1 goes on *****.'],
	[new TypeError('x is not a function'), 'Item 1 goes on *****.'],
	[
		failure('badImage'),
		expect.stringMatching(/to the service\. Item 1 goes on \*{5}\.$/) as string,
	],
	[failure('badFile'), expect.stringMatching(/a\.mp3 \. Item 1 goes on/) as string],
])('what else is paid stands behind what to do about %s', (thrown, description) => {
	const error = toNodeError(thrown, { node, redact, note: `Item 1 goes on ${TOKEN}.` });
	expect(error.description).toEqual(description);
});

describe('for n8n', () => {
	it('a fault of the input is no failure of the API, which has its status', () => {
		for (const kind of ['invalidInput', 'taskFailed', 'generationFailed'] as const) {
			expect(toNodeError(failure(kind), { node })).toBeInstanceOf(NodeOperationError);
		}
		const error = toNodeError(failure('rejected'), { node });
		expect(error).toBeInstanceOf(NodeApiError);
		expect(error).toMatchObject({ httpCode: '422' });
	});

	it('words are kept although they contain an error code that n8n would put its own text for', () => {
		const failed = failure('rejected', { text: 'ECONNREFUSED 404 ETIMEDOUT' });
		expect(toNodeError(failed, { node }).message).toContain('ECONNREFUSED 404 ETIMEDOUT');
	});

	it("n8n's own errors keep their words and get the item", () => {
		const own = new NodeOperationError(node, "Referenced node doesn't exist");
		expect(toNodeError(own, { node, itemIndex: 2 })).toBe(own);
		expect(own.message).toBe("Referenced node doesn't exist");
		expect(own.context.itemIndex).toBe(2);
	});
});
