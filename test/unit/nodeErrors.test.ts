import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NodeOperationError, type INode } from 'n8n-workflow';
import { Failure, type FailureFacts, type FailureKind } from '../../nodes/shared/failure';
import { chargeSummary, type ItemRequest } from '../../nodes/MediaGeneration/paid/summary';
import { wordingOf } from '../../nodes/shared/n8n/messages';
import { toNodeError } from '../../nodes/shared/n8n/nodeErrors';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { bannedIn } from './terms';

const OTHER_URL = 'to another Base URL, https://old.example.com, as task 4711';
const TOKEN = 'tok_0123456789abcdef';
const redact = redactor(TOKEN);
const node = { name: 'Media Generation', parameters: {} } as INode;

/** Every kind, with the facts it usually comes with. */
const KINDS: Record<FailureKind, FailureFacts> = {
	invalidInput: { field: 'Text', reason: 'is empty' },
	badImage: {
		field: 'Images (in Order)',
		reason: "The input has no binary field 'data' (it has none)",
	},
	overBudget: { reason: 'This run needs 2 paid requests', maxPaidRequests: 1 },
	crashed: {},
	unreachable: { host: 'media.example.com', unreachableCause: 'refused', transient: true },
	noResponse: { host: 'media.example.com', transient: true },
	foreignServer: { status: 200 },
	redirected: { host: 'https://other.example.com', status: 302 },
	tokenRefused: { status: 401, reason: 'invalid_token' },
	outOfCredit: { status: 402, reason: 'insufficient_credits' },
	throttled: { status: 429, retryAfterMs: 7000 },
	invalidVoice: { status: 400, reason: 'invalid_voice_id' },
	notFound: { status: 404, reason: 'Not found' },
	rejected: { status: 422, reason: 'text too long' },
	unavailable: { status: 503, reason: 'maintenance' },
	taskFailed: { reason: 'text too long' },
	generationFailed: { reason: 'UNSAFE_GENERATION', mediaKind: 'video' },
	tooLarge: { reason: 'a list of more than 1000 pages' },
	indeterminate: { mayBeCharged: true },
	noAudioUrl: { limitMs: 60_000 },
	downloadFailed: { reason: 'the file is empty', fileUrl: 'https://files.example.com/a.mp3' },
	streamLost: { reason: 'the service sent nothing for 300 seconds' },
	timedOut: { limitMs: 3_600_000, lastKnownStatus: 'processing, 57 %' },
	webSocketUnsupported: {},
	webSocketBlocked: {},
	selfTrigger: { nodeName: 'Speak', mediaKind: 'speech' },
	canceled: {},
};
const kinds = Object.keys(KINDS) as FailureKind[];
const failure = (kind: FailureKind, facts: FailureFacts = {}) =>
	new Failure(kind, { ...KINDS[kind], ...facts });

/** What a person reads of each kind: read it aloud before you change a word. */
const ALOUD = `
'Text' is empty. Fill it in, or check the column's name in its expression. The request was not sent.
The input has no binary field 'data' (it has none). 'Images (in Order)' must contain the names of input binary fields that hold images, or image URLs (https://…). The request was not sent.
This run needs 2 paid requests, but 'Max Paid Requests' is 1. Raise the limit, or pass fewer rows. No paid request was sent in this run of the node.
n8n crashed in an earlier attempt, and forgot what was paid for. Nothing was sent. First get what is there: Speech → Collect (IDs: n8n's log), History → Get Many. To pay for all rows again, retry this execution.
media.example.com refused the connection. Check 'Base URL' in the credential, and whether the service is running.
media.example.com did not respond. Try again in a moment.
The response does not come from a media generation service (HTTP 200). Check 'Base URL' in the credential: the API's URL before /v1.
The service redirects to https://other.example.com. The API token is never sent to another host automatically. If you trust the new host, enter it as 'Base URL' in the credential.
Authorization failed: the service refused the API token: invalid_token. Enter a new 'API Token' in the credential: the current one is wrong, expired or revoked.
The account is out of credit: insufficient_credits. Add credit with your provider. Account → Get shows what is left.
The service received too many requests from this account. Wait 7 seconds before you try again.
Your account has no voice with this ID. Choose one with 'From list' in 'Voice', or get the IDs with Voice → Get Many.
The service does not know this URL: Not found. Check 'Base URL' in the credential: the API's URL before /v1. If it is correct, the service does not offer this operation.
The service rejected the request (HTTP 422): text too long. Correct the field this reason is about.
The service is not available (HTTP 503): maintenance. Try again later.
The service could not generate the speech: text too long. Change the text, voice or model. A new request is charged.
The service could not generate the video: UNSAFE_GENERATION. Change the prompt or any images. A new request is charged.
The service's response is too large: a list of more than 1000 pages. For a list, turn off 'Return All' and set a lower 'Limit'. Otherwise, contact your provider.
An earlier attempt sent this request, but it is unclear whether the service accepted it. The request isn't sent again, to avoid a second charge: check History → Get Many in half an hour. If the result isn't there, run only this row (charged). 'Execute step' here charges all rows.
The task is completed, but its audio is not available yet (waited 60 seconds). Wait a few minutes.
The file was generated but could not be downloaded: the file is empty. The request has been charged. Get its file with History → Get Many, or here: https://files.example.com/a.mp3
The result did not arrive: the service sent nothing for 300 seconds. The request has been charged: check History → Get Many in half an hour. If the result isn't there, run only this row (charged). A retry only looks again.
No result after 3600 seconds (last known status: processing, 57 %). To wait longer, raise 'Timeout' under Options.
This n8n runs on a version of Node.js without WebSocket support. Run n8n on Node.js 22 or later, or list the tasks in 'Task IDs'. The trigger then checks those.
The WebSocket can't be opened, although the service accepts the token. Check 'WebSocket URL' in the credential, and whether a proxy blocks WebSockets. Or list the tasks in 'Task IDs': the trigger then checks those. Without a WebSocket, the trigger can't detect tasks by itself.
'Speak' generates what the trigger listens for, so each execution would start and pay for the next. Move that node to a sub-workflow, called with 'Execute Sub-workflow' (not in queue mode), or list the tasks in 'Task IDs'. Even then, a loop through nested sub-workflows, HTTP Request, MCP, lost responses or other workflows' triggers can't be detected. 'Execute step' still works.
The execution was canceled.
The account's quota is used up. Wait until the quota is renewed, or choose a larger plan. Account → Get shows what is left.
The service rejected the request (HTTP 403): captcha. Ask your provider whether your account may do this.
media.example.com does not present a certificate that n8n trusts. Check 'Base URL': the service may use http://, or its certificate may have expired. For your own authority, set NODE_EXTRA_CA_CERTS in n8n's environment to its file, and restart n8n.
media.example.com is blocked by the security settings of this n8n instance. Ask your n8n administrator to allow this host.
The service has no task with this ID: Not found – task 4711. Check the task ID. The task may have been deleted, or belong to another account.
An earlier attempt sent this request to another Base URL, https://old.example.com, as task 4711. To get the result at no extra charge, enter the earlier Base URL or token in the credential again, then choose Executions → Retry. To use the new credential instead, run only this row (charged).
The file was generated but could not be downloaded: the file is empty. Get the file later, at no extra charge, or here: https://files.example.com/a.mp3
'Text' is empty. Fill it in, or check the column's name in its expression.
Authorization failed: the service refused the API token: invalid_token. Enter a new 'API Token' in the credential: the current one is wrong, expired or revoked. If the workflow was published, publish it again.
The service received too many requests from this account. Wait 7 seconds. If it happens again, set a lower 'Concurrency' under Options.
`;

describe('every kind of failure', () => {
	it('says what happened, and what to do', () => {
		const used = failure('throttled', { meaning: 'quota' });
		const plan = failure('rejected', { meaning: 'not_allowed', status: 403, reason: 'captcha' });
		const others = [
			...(['certificate', 'blocked'] as const).map((unreachableCause) =>
				failure('unreachable', { unreachableCause }),
			),
			failure('notFound', { taskId: '4711' }),
			failure('indeterminate', { sentElsewhere: OTHER_URL }),
			failure('downloadFailed', { isFree: true }),
			failure('invalidInput', { isTrigger: true }),
			failure('tokenRefused', { isTrigger: true }),
			failure('throttled', { mediaKind: 'speech' }),
		];
		const said = [...kinds.map((kind) => failure(kind)), used, plan, ...others].map(wordingOf);
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
			expect(description).toMatch(/Speech → Collect with task ID task-4711\.$/);
		}
	});
});

/** What a failure may come with, each beside the facts of its kind. */
const MORE: Record<string, FailureFacts> = {
	nothing: {},
	'a task': { taskId: '4711' },
	'the tasks of parts': { part: '2 of 3', taskIds: ['7', '8'], indeterminateParts: [3] },
	'ids that were told': { announcedIds: ['v1', 'v2'], mediaKind: 'video' },
	'a charge that is unclear': {
		mayBeCharged: true,
		mediaKind: 'speech',
		candidates: [{ id: 'e1' }],
	},
	'a file': { fileUrl: 'https://files.example.com/a.mp4', otherFileUrls: [] },
	'too much to do': { meaning: 'throttled', safeInFlight: 4 },
	'a used-up quota': { meaning: 'quota' },
	'something that is not allowed': { meaning: 'not_allowed' },
	'an outage': { meaning: 'unavailable' },
};
/** Kinds that come once something is paid for. */
const LATER: FailureKind[] = [
	...(['noResponse', 'unavailable', 'rejected', 'throttled', 'outOfCredit'] as const),
	...(['taskFailed', 'generationFailed', 'timedOut', 'streamLost', 'indeterminate'] as const),
	...(['noAudioUrl', 'downloadFailed'] as const),
];
/** What else the run has paid for, as far as it is known. */
const task = (index: number): ItemRequest => ({
	...{ index, state: 'task', taskId: `t${index}`, createdAt: 0, accountKey: '' },
});
const PAID: ItemRequest[][] = [
	[],
	[task(0)],
	[task(1), task(2)],
	[{ index: 0, state: 'sent' }, task(1), { index: 2, state: 'sent' }],
];

describe.each(kinds)('all that can be said of %s', (kind) => {
	const isLost = kind === 'streamLost' || kind === 'indeterminate';
	const more = Object.entries(LATER.includes(kind) ? MORE : { nothing: {} }).filter(
		([, facts]) => !isLost || facts.mediaKind !== undefined,
	);
	it.each(more)('keeps to the terms, with %s', (_, facts) => {
		const failed = failure(kind, facts);
		const executions: Parameters<typeof chargeSummary>[2][] = [
			{},
			{ isSubWorkflow: true },
			{ hasEarlierRequests: true },
			{ isRetry: true },
		];
		for (const [paid, execution] of PAID.flatMap((paid) =>
			executions.map((execution) => [paid, execution] as const),
		)) {
			const notes = chargeSummary(paid, { index: 0, error: failed }, execution);
			const { message, description } = toNodeError(failed, { node, itemIndex: 12, ...notes });
			const all = `${message}. ${description}`;
			// A retry is free, and running again is charged: whoever reads both does the dear thing.
			expect(all.match(/\bretry\b/i) && all.match(/\brun\b[^.]*\bagain\b/i)).toBeNull();
			expect(bannedIn(all)).toEqual([]);
			const [before = ''] = String(description).split(
				/Already paid for|Possibly charged|: tasks |(?:One of these|This) history|results? ha(?:s|ve) the ID/,
			);
			// Two more name the workflow that was called.
			expect(before.match(/\w\S*/g)?.length ?? 0).toBeLessThanOrEqual(
				execution?.isSubWorkflow ? 62 : 60,
			);
		}
	});
});

describe('what a message says', () => {
	it('says which rows are empty as the table counts them, and what to do about some or all', () => {
		const empty = (...itemIndexes: number[]) =>
			wordingOf(failure('invalidInput', { itemIndexes, itemCount: 3 }));
		expect(empty(0, 2).message).toBe("'Text' is empty in 2 of 3 rows: 1 and 3");
		expect(empty(1).description).toMatch(
			/^Fill it in, or skip such rows: set On Error \(Settings\)/,
		);
		expect(empty(0, 1, 2).message).toBe("'Text' is empty in all 3 rows");
		expect(empty(0, 1, 2).description).toMatch(/^Fill it in, or check the column's name/);
	});

	it('does not blame the input when the service had too much to do', () => {
		for (const kind of ['taskFailed', 'generationFailed'] as const) {
			const { description } = wordingOf(failure(kind, { meaning: 'throttled' }));
			expect(description).toMatch(/^Set a lower 'Concurrency'.* A new (?:task|request) is charged/);
			const facts = { meaning: 'throttled', safeInFlight: 4 } as const;
			expect(wordingOf(failure(kind, facts)).description).toContain('Options (try 4).');
		}
		const ofPart = { meaning: 'throttled', part: '2 of 3' } as const;
		expect(wordingOf(failure('taskFailed', ofPart)).description).toBe(
			"Set a lower 'Concurrency' under Options. A new request is charged.",
		);
	});

	it('does not blame the Base URL for the host of a file', () => {
		const facts = { fileUrl: 'https://files.example.com/a.mp3', taskId: '7' };
		const { description } = wordingOf(failure('unreachable', facts));
		expect(description).toMatch(
			/^The file is on this host: check whether n8n can reach it\. .*Speech → Collect with task ID 7/,
		);
	});

	it('promises a result only if it was requested', () => {
		const later = (facts: FailureFacts) => wordingOf(failure('timedOut', facts)).description;
		expect(later({ taskId: '7' })).toMatch(/^It may still arrive/);
		expect(later({ mayBeCharged: true, mediaKind: 'video' })).toMatch(
			/may have been charged: check/,
		);
		expect(later({})).not.toContain('may still arrive');
	});

	it.each(['noResponse', 'unavailable'] as const)(
		'does not send anyone to try again, which is charged, where a task can be collected: %s',
		(kind) => {
			const { description } = wordingOf(failure(kind, { taskId: '7' }));
			expect(description).toContain('Speech → Collect with task ID 7');
			expect(description).not.toContain('Try again');
		},
	);

	it('names the first five entries that may be it, and how many more there are, before the advice', () => {
		const candidates = Array.from({ length: 7 }, (_, index) => ({ id: `e${index}` }));
		const { description } = wordingOf(failure('streamLost', { candidates }));
		expect(description).toMatch(
			/^One of .* may be the result: e0, e1, e2, e3, e4 and 2 more\. .*If the result isn't there, run/,
		);
		const { description: lost } = wordingOf(failure('streamLost', { announcedIds: ['v1'] }));
		expect(lost).toMatch(/^The result has the ID v1\. .*If the result isn't there, run/);
	});

	it.each([
		["one of n8n's own", new NodeOperationError(node, 'Referenced node does not exist')],
		['one that nobody foresaw', new TypeError('x is not a function')],
		['a cancel', failure('canceled')],
	])('adds what else is worth knowing to %s', (_, thrown) => {
		const error = toNodeError(thrown, { node, redact, after: `Item 1 goes on ${TOKEN}.` });
		expect(error.description).toBe('Item 1 goes on *****.');
	});
});

describe('for n8n', () => {
	it('words are kept although they contain an error code that n8n would put its own text for', () => {
		const failed = failure('rejected', { reason: 'ECONNREFUSED 404 ETIMEDOUT' });
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
