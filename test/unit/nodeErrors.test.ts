import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NodeOperationError, type INode } from 'n8n-workflow';
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
	badImage: { field: 'Images, in Order', text: "No file in 'data'" },
	unreachable: { host: 'media.example.com', text: 'refused', transient: true },
	noResponse: { host: 'media.example.com', transient: true },
	foreignServer: { status: 200 },
	redirected: { host: 'https://other.example.com', status: 302 },
	tokenRefused: { status: 401, text: 'invalid_token' },
	outOfCredit: { status: 402, text: 'insufficient_credits' },
	rateLimited: { status: 429, retryAfterMs: 7000 },
	invalidVoice: { status: 400, text: 'invalid_voice_id' },
	notFound: { status: 404, text: 'Not found' },
	rejected: { status: 422, text: 'text too long' },
	unavailable: { status: 503, text: 'maintenance' },
	taskFailed: { text: 'text too long' },
	generationFailed: { text: 'UNSAFE_GENERATION' },
	tooLarge: { text: 'a list of more than 1000 pages' },
	indeterminate: { mayBeCharged: true },
	noAddress: { limitMs: 60_000 },
	downloadFailed: { text: 'the file is empty', fileUrl: 'https://files.example.com/a.mp3' },
	streamLost: { text: 'nothing was heard for 300 s' },
	timedOut: { limitMs: 3_600_000, lastKnownStatus: 'processing, 57 %' },
	noWebSocket: {},
	noSocket: {},
	noHistory: { status: 404 },
	selfTrigger: { text: 'Speak', isSpeech: true },
	canceled: {},
};
const kinds = Object.keys(KINDS) as FailureKind[];
const failure = (kind: FailureKind, facts: FailureFacts = {}) =>
	new Failure(kind, { ...KINDS[kind], ...facts });

/** What a person reads of each kind: read it aloud before you change a word. */
const ALOUD = `
'Text' is empty. Change 'Text'. Nothing was sent to the service.
No file in 'data'. 'Images, in Order' must name input fields that hold images, or their addresses (https://…). Nothing was sent to the service.
media.example.com refused the connection. Check 'Base URL' in the credential, and whether the service is running.
media.example.com did not respond. The connection broke or took too long. Try again in a moment.
The response does not come from a media generation service (HTTP 200). Check 'Base URL' in the credential: it must be the address of the API, not of a web page.
The service redirects to https://other.example.com. The API token is never sent to another address automatically. If you trust that address, enter it as 'Base URL' in the credential.
Authorization failed: the service refused the API token: invalid_token. Enter a new 'API Token' in the credential: it is wrong, expired or revoked.
The account is out of credit: insufficient_credits. Add credit with the provider, then run this again. Account → Get shows what is left.
The service received too many requests from this account. Wait 7 seconds, or set a lower 'Concurrency' under Options.
The service does not accept this voice: invalid_voice_id. Enter the ID, not the name, or choose From list in 'Voice'. Voice → Get Many has the IDs, too.
The service does not recognize this address: Not found. Check 'Base URL' in the credential: it must be the part of the address before the API paths (/v1/…).
The service rejected the request: text too long. Change the input that this refers to (HTTP 422).
The service is not available (HTTP 503): maintenance. Your workflow is not the cause. Try again later.
The service could not generate the speech: text too long. Change the text, voice or model and run this again: it will be charged as a new task.
The service could not generate this: UNSAFE_GENERATION. Change the prompt or images and run this again: it will be charged as a new generation.
The service sent more data than it should: a list of more than 1000 pages. Nothing was returned, because it would have been incomplete. Request less, for example with a 'Limit' instead of 'Return All'. If that does not help, contact the provider of the service.
An earlier attempt sent this request and got no clear response. It is not sent again automatically, since it could be charged twice. To send it all the same, start the workflow from the beginning. The service may have accepted the request and charged for it. Check History → Get Many (or the provider's website) before you run this again.
The task is completed, but its file still has no address after 60 seconds. It may still come.
The file was generated but could not be downloaded: the file is empty. It has been charged and is available at https://files.example.com/a.mp3
The service stopped reporting before the result was ready: nothing was heard for 300 s. The generation may still be running, and has been charged. Check History → Get Many before you run this again: it is not requested a second time automatically.
No result after 3600 seconds (last known: processing, 57 %). The result may still come. If it usually takes longer, set a longer 'Timeout' under Options.
This n8n runs on a version of Node.js without WebSocket. Run n8n on Node.js 22 or later. Or enter the tasks in 'Task IDs': those are looked up instead.
The WebSocket can't be opened, although the service accepts the token. Check 'WebSocket URL' in the credential, and whether a proxy blocks WebSockets. Or enter the tasks in 'Task IDs': those are looked up instead. Without a WebSocket the trigger hears of no task.
The service keeps no history of videos and images (HTTP 404). Take 'Video or Image Made' out of 'Trigger On': it can't be noticed without the history.
'Speak' follows this trigger and creates what it listens for, so the workflow would start itself again and again. Enter the tasks to listen for in 'Task IDs', or call 'Speak' in another workflow with 'Execute Sub-workflow'. In queue mode, in a sub-workflow of that one, or with HTTP Request, this would not be noticed. Each execution would pay for the event that starts the next one. By hand, with 'Execute step', the workflow can be tried as it is.
The execution was canceled.
The account's quota is used up. A used-up quota comes back when its period ends, or with a larger plan. Account → Get shows what is left.
The service rejected the request: captcha. Choose a voice, a model or settings that the provider lets your account use (HTTP 403).
`;

describe('every kind of failure', () => {
	it('says what happened, and what to do', () => {
		const used = failure('rateLimited', { means: 'quota' });
		const plan = failure('rejected', { means: 'not_allowed', status: 403, text: 'captcha' });
		const said = [...kinds.map((kind) => failure(kind)), used, plan].map(wordingOf);
		const lines = said.map(({ message, description }) => `${message}. ${description}`.trim());
		expect(lines.join('\n')).toBe(ALOUD.trim());
		expect(ALOUD).not.toMatch(/undefined|null|\[object|NaN|[Ee]rror|[Pp]roblem|[Ff]ailure/);
	});

	// What n8n or a hint says is in italics there.
	it.each(['README.md', 'docs/messages.md'])('is quoted as it is in %s', (page) => {
		const text = readFileSync(join(__dirname, '../..', page), 'utf8');
		const cells = [...text.matchAll(/^\| ([^|_]+?) *\|/gm)].map(([, cell]) => cell!);
		const quotes = cells.flatMap((cell) => cell.split(/ …|… | \/ |'|:/));
		const whole = quotes.map((quote) => quote.trim()).filter((quote) => /(\S+ ){4}/.test(quote));
		expect(whole.length).toBeGreaterThan(4);
		expect(whole.filter((quote) => !ALOUD.includes(quote))).toEqual([]);
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
	it('does not blame the input when the service had too much to do', () => {
		for (const kind of ['taskFailed', 'generationFailed'] as const) {
			const { description } = wordingOf(failure(kind, { means: 'throttled' }));
			expect(description).toMatch(/^Set a lower 'Concurrency'.* charged as a new/);
		}
	});

	it('names the first five entries that may be it, and how many more there are', () => {
		const candidates = Array.from({ length: 7 }, (_, index) => ({ id: `e${index}` }));
		const { description } = wordingOf(failure('streamLost', { candidates }));
		expect(description).toMatch(/may be the result: e0, e1, e2, e3, e4 and 2 more\.$/);
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
