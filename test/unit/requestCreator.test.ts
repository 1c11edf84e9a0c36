import type { MediaRequest } from '../../nodes/shared/generation/requestLedger';
import { sortOldestFirst, toHistoryEntries } from '../../nodes/shared/generation/historyEntries';
import { matchHistory } from '../../nodes/shared/generation/historyMatching';
import { ledgerOf } from '../../nodes/shared/generation/requestLedger';
import type { Credential } from '../../nodes/shared/http/credential';
import { isCreatedByOwnExecution } from '../../nodes/shared/n8n/requestCreator';
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
	const files = readGeneratedFiles([late], SERVICE);
	const isOwn = async (id: string) =>
		await isCreatedByOwnExecution(
			{ id, prompt: 'P', files },
			credential,
			({ id: creator }) => creator === 'own',
			AbortSignal.timeout(5000),
		);
	// Another trigger asks about the same video.
	expect([await isOwn('late'), await isOwn('late')]).toEqual([true, true]);

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
])('who owns a video that comes after a lost stream: %s', async (_, asked, prompt, expected) => {
	const credential = { accountKey: `lost ${asked}` } as Credential;
	const now = Date.now();
	ledgerOf(credential).add(
		sent({ prompt: asked, creator: { id: 'own' }, sentAt: now - 60_000, searchUntil: now }),
	);
	const record = { id: 'late', prompt, file_url: `${SERVICE}/files/late.mp4` };
	const [entry] = toHistoryEntries([record], SERVICE);
	const isOwn = isCreatedByOwnExecution(entry!, credential, () => true, AbortSignal.timeout(5000));
	expect(await isOwn).toBe(expected);
});
