import type { IDataObject } from 'n8n-workflow';
import type { MediaRequest } from '../../nodes/shared/generation/requestLedger';
import { sortOldestFirst, toHistoryEntries } from '../../nodes/shared/generation/historyEntries';
import { candidatesFor, matchHistory } from '../../nodes/shared/generation/historyMatching';
import { ledgerOf } from '../../nodes/shared/generation/requestLedger';
import type { Credential } from '../../nodes/shared/http/credential';
import {
	creatorOf,
	isCreatedByOwnExecution,
	noteListedRequests,
} from '../../nodes/shared/n8n/requestCreator';
import { readGeneratedFiles } from '../../nodes/shared/parsing/responses';
import { sent } from './sent';

/* What a trigger takes for the work of its own workflow. */

const SERVICE = 'https://media.example.com';

test('a video that a trigger attributes to a finished request still goes to the one that lacks it', async () => {
	const credential = { accountKey: 'requestCreator' } as Credential;
	const ledger = ledgerOf(credential);
	const now = Date.now();
	const video = (id: string) => ({ id, prompt: 'P', file_url: `${SERVICE}/files/${id}.mp4` });
	const request = (first: string, fields: Partial<MediaRequest>) => {
		const files = readGeneratedFiles([video(first)], SERVICE);
		const own = { files, creator: { id: 'own' }, sentAt: now - 60_000, searchUntil: now + 60_000 };
		const one = sent({ ...own, attributableCount: 2, ...fields });
		ledger.add(one);
		return one;
	};
	// One of its two videos was refused, so it is finished with the other.
	request('a', { requestedCount: 1 });
	const lost = request('b', { requestedCount: 2, sentAt: now - 30_000 });

	const late = video('late');
	const [entry] = toHistoryEntries([late], SERVICE);
	const isOwn = async () =>
		await isCreatedByOwnExecution(
			entry!,
			credential,
			({ id: creator }) => creator === 'own',
			AbortSignal.timeout(5000),
		);
	// Another trigger asks about the same video.
	expect([await isOwn(), await isOwn()]).toEqual([true, true]);

	const created_at = new Date(now - 10_000).toISOString();
	const records = ['late', 'b', 'a'].map((id) => ({ ...video(id), created_at }));
	const history = sortOldestFirst(toHistoryEntries(records, SERVICE));
	const matched = matchHistory(lost, ledger.generations(), history, lost.accountKey);
	expect(matched.map(({ record }) => record.id)).toEqual(['b', 'late']);
});

test.each([
	['the history has no prompts', 'P', undefined, true],
	['the request has no prompt, but the entry has', '', 'Animate it', false],
	['the history shortens prompts', 'A boat on the sea', 'A boat on t…', true],
	['the history has other quotation marks', "A boat's mast", 'A boat’s mast', true],
	['the entry has more words', 'A boat', 'A boat on the sea', false],
	['the entry has fewer words', 'Scene 12', 'Scene 1', false],
	['the entry has other words', 'A boat', 'A house', false],
	['no words, but other signs', '🚢', '🏠', false],
])(
	'who owns a video that comes after a lost stream: %s',
	async (_, sentPrompt, prompt, expected) => {
		const credential = { accountKey: `lost ${sentPrompt}` } as Credential;
		const now = Date.now();
		ledgerOf(credential).add(
			sent({ prompt: sentPrompt, creator: { id: 'own' }, sentAt: now - 60_000, searchUntil: now }),
		);
		const record = { id: 'late', prompt, file_url: `${SERVICE}/files/late.mp4` };
		const [entry] = toHistoryEntries([record], SERVICE);
		const isOwn = isCreatedByOwnExecution(
			entry!,
			credential,
			() => true,
			AbortSignal.timeout(5000),
		);
		expect(await isOwn).toBe(expected);
	},
);

const UUID = '0b4c2f6e-8a1d-4c57-9e3b-5d7f1a2c3e4f';
const anImage = { type: 'image', file_url: `${SERVICE}/files/7.png` };
test.each<[string, expected: boolean, fields: object]>([
	['a video', true, {}],
	['a video of other words, which the service may have written', true, { prompt: 'A boat' }],
	[
		'such a video, by a clock that is slow',
		true,
		{ prompt: 'A boat', created_at: '2026-01-01T10:00:00Z' },
	],
	[
		'a video of another number, whose task has it',
		true,
		{ id: '31', task_id: '7', prompt: 'A boat' },
	],
	['an image of another: kinds may be numbered separately', false, { ...anImage, prompt: 'Q' }],
	['an image, as its file shows', false, { ...anImage, type: undefined, prompt: 'Q' }],
	['a video of another workflow: jobs may be numbered separately', false, { prompt: 'Row 2' }],
	['what a UUID proves', true, { ...anImage, id: UUID, prompt: 'Q' }],
	['what its file proves, with another ID', true, { id: '31', file_url: `${SERVICE}/own.mp4` }],
])('a number that was told to a video of its own shows: %s', async (...row) => {
	const [, expected, fields] = row;
	const credential = { accountKey: `told ${row[0]}` } as Credential;
	const now = Date.now();
	const own = { files: readGeneratedFiles([{ file_url: `${SERVICE}/own.mp4` }], SERVICE) };
	const sentAt = now - 60_000;
	ledgerOf(credential).add(
		sent({ ...own, announcedIds: ['7', UUID], sentAt, searchUntil: now - 30_000, isListed: true }),
	);
	ledgerOf(credential).add(sent({ prompt: 'Row 2', creator: { id: 'other' }, sentAt }));
	const record = { id: '7', prompt: 'P', type: 'video', file_url: '/7.mp4', ...fields };
	const [entry] = toHistoryEntries([record], SERVICE);
	const isOwn = isCreatedByOwnExecution(
		entry!,
		credential,
		({ id }) => id === 'workflow',
		AbortSignal.timeout(5000),
	);
	expect(await isOwn).toBe(expected);
});

test('it is noted which ended requests the history has shown, and stays so', () => {
	const credential = { accountKey: 'listed' } as Credential;
	const requests = ['open', 'listed', 'missing', '7'].map((id) => {
		const one = sent({ announcedIds: [id], searchUntil: id === 'open' ? undefined : 1 });
		ledgerOf(credential).add(one);
		return one;
	});
	// The image of another has the number that was told to a video.
	const records = [{ id: 'open' }, { id: 'listed' }, { id: '7', ...anImage }];
	for (const shown of [records, []]) {
		noteListedRequests(credential, toHistoryEntries(shown, SERVICE));
		expect(requests.map(({ isListed }) => isListed)).toEqual([undefined, true, false, false]);
	}
});

test('10,000 finished requests hold nobody up', async () => {
	const accountKey = 'busy';
	const credential = { accountKey } as Credential;
	const ledger = ledgerOf(credential);
	const file = (name: string) => `https://files.example.com/${name}.mp4?sign=1`;
	const past = { accountKey, sentAt: Date.now() - 9e6, searchUntil: Date.now() - 8e6 };
	for (let number = 0; number < 10_000; number++) {
		const files = [{ id: `n${number}`, fileUrl: file(`n${number}`), raw: {} }];
		ledger.addFinished({ ...sent({ ...past, files }), key: `busy ${number}` });
	}
	const records = Array.from({ length: 100 }, (_, number) => {
		return { id: `new${number}`, prompt: 'Q', file_url: file(`new${number}`) };
	});
	const history = toHistoryEntries(records, SERVICE);
	const lost = sent({ ...past, prompt: 'Q' });
	const before = process.cpuUsage();
	for (let look = 0; look < 40; look++) {
		const { signal } = new AbortController();
		expect(await isCreatedByOwnExecution(history[0]!, credential, () => false, signal)).toBe(false);
		noteListedRequests(credential, history);
		const requests = [...ledger.generations(), lost];
		expect(matchHistory(lost, requests, history, accountKey)).toEqual([]);
		expect(candidatesFor(lost, requests, history)).toHaveLength(100);
	}
	const { user, system } = process.cpuUsage(before);
	expect((user + system) / 1000).toBeLessThan(80 * 50);
});

describe('what has led to an execution that a trigger has started', () => {
	/** What a request tells in an execution of the workflow `own` that began with this item of a trigger. */
	const creatorWith = (json: IDataObject, type = 'package.mediaGenerationTrigger') =>
		creatorOf({
			getMode: () => 'trigger',
			getWorkflow: () => ({ id: 'own' }),
			workflow: { nodes: { Start: { id: 'start', name: 'Start', type } } },
			runExecutionData: {
				resultData: { runData: { Start: [{ data: { main: [[{ json }]] } }] } },
			},
		} as never);
	const create = (accountKey: string, request: Partial<MediaRequest>) => {
		const creator = { id: 'other', triggers: ['other/trigger', 'own/start'] };
		ledgerOf({ accountKey } as Credential).add(sent({ accountKey, creator, ...request }));
	};

	it('is found, also if the task was created with another credential of the account', () => {
		create('first', { kind: 'speech', announcedIds: ['one'] });
		create('second', { kind: 'speech', announcedIds: ['two'] });
		for (const task_id of ['one', 'two']) {
			const json = { event: 'completed', task_id, process_percentage: 100 };
			expect(creatorWith(json)).toEqual({ id: 'own', triggers: ['own/start', 'other/trigger'] });
		}
		expect(creatorWith({ task_id: 'three', process_percentage: 100 }).triggers).toEqual([
			'own/start',
		]);
	});

	it('is found for a video, by its ID or its URL', () => {
		const file_url = `${SERVICE}/files/led.mp4`;
		const files = readGeneratedFiles([{ id: 'led', file_url }], SERVICE);
		create('videos', { kind: 'video', announcedIds: [], files });
		for (const json of [{ id: 'x', file_url }, { id: 'led' }])
			expect(creatorWith({ event: 'generated', ...json }).triggers).toContain('other/trigger');
	});

	it('is nothing where another node has started it', () => {
		create('elsewhere', { kind: 'speech', announcedIds: ['led'] });
		const json = { task_id: 'led', process_percentage: 100 };
		expect(creatorWith(json, 'n8n-nodes-base.manualTrigger').triggers).toBeUndefined();
	});
});
