import { bad, good, only } from './seen';
import { ALWAYS, answer, requests } from './service';
import { run, sim, start } from './setup';

const voices = (more = {}) => ({ resource: 'voice', operation: 'getAll', ...more });
const account = { resource: 'account', operation: 'get' };
const asked = () => requests('GET', '/v1/labs/voices');

test.each([
	['paged', { voices: 'paged' }],
	['paged with a wrong echo', { voices: 'paged', pageEcho: 'wrong' }],
	['paged, labels', { voices: 'paged', voiceTraits: 'labels' }],
	['bare array', { voices: 'array' }],
] as const)('all voices, each once: %s', async (_, dialect) => {
	await start({ dialect });
	const output = good(await run(voices({ returnAll: true })));
	expect(output.map(({ json }) => json.voice_id)).toEqual(sim.voiceIds());
	for (const { pairedItem } of output) expect(pairedItem).toEqual({ item: 0 });
	expect(asked()[0]?.query).toMatchObject({ page: '0', page_size: '100' });
	expect(asked()[0]?.headers.authorization).toBe(`Bearer ${sim.token}`);
});

test.each(['paged', 'array'] as const)('limits: %s', async (shape) => {
	await start({ dialect: { voices: shape } });
	expect(good(await run(voices()))).toHaveLength(50);
	expect(good(await run(voices({ limit: 7 })))).toHaveLength(7);
	expect(good(await run(voices({ limit: 150 })))).toHaveLength(150);
});

test('filters are sent', async () => {
	await start({ dialect: { voices: 'paged' } });
	const traits = { language: 'en', gender: 'female', age: 'young', category: 'premade' };
	const same = { ...traits, search: 'a', sort: 'name' };
	const options = { ...same, useCases: 'narration' };
	good(await run(voices({ returnAll: true, options })));
	expect(asked()[0]?.query).toMatchObject({ ...same, use_cases: 'narration' });
});

test.each(['quota', 'balance'] as const)('account: %s', async (shape) => {
	await start({ dialect: { account: shape } });
	const { json, pairedItem } = only(await run(account));
	expect(json).toHaveProperty(shape === 'quota' ? 'available_quota' : 'credits');
	expect(pairedItem).toEqual({ item: 0 });
});

test('what does not come from the service is no account and no list of voices', async () => {
	sim.fault({ action: answer(200, '"hello"'), ...ALWAYS });
	for (const fields of [account, voices()]) {
		const { message } = bad(await run(fields));
		expect(message).toMatch(/does not come from a media generation service/);
	}
});
