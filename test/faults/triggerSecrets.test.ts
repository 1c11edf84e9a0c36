import { logged, removeLog } from './log.mts';
import { message } from '../engine/service';
import { fakeTime, sim, start } from '../engine/setup';
import { pass, passUntil } from '../engine/time';
import {
	activate,
	activateListening,
	createTask,
	onAll,
	type ActiveTrigger,
} from '../engine/triggerSetup';
import { canary, contentsOf, echo as echoOf, findToken } from './canary.mts';
import { saved } from './check.mts';
import { always, answer, on } from './row.mts';

/* The trigger, of a service that says the token in everything it says. */

afterAll(() => removeLog());

const echo = () => echoOf(sim.token);
const says = (path: string, status: number, body: object) =>
	sim.fault({ ...always, path, ...answer(status, body) });

async function assertSecret(trigger?: ActiveTrigger, ...errors: unknown[]): Promise<void> {
	const places = {
		items: JSON.stringify(trigger?.started.map(({ item, key }) => ({ item, key })) ?? []),
		static: JSON.stringify(trigger?.saved() ?? {}),
		errors: saved([...errors, ...(trigger?.errors ?? [])]),
		stored: contentsOf(process.env.N8N_USER_FOLDER!),
		log: await logged(),
	};
	expect(findToken(sim.token, places)).toBeUndefined();
	expect(sim.leaks).toEqual([]);
}

const refusal = async (work: Promise<unknown>): Promise<Error> =>
	(await work.catch((error: Error) => error)) as Error;

beforeEach(async () => await start({ token: canary(), pace: 0.02 }));

test.each([
	[401, /refused the API token/],
	[402, undefined],
	[404, /not come from a media generation service/],
])('an activation that is answered %d', async (status, words) => {
	says('/v1/video/me', status, { error: `no, ${echo()}` });
	if (words) {
		const error = await refusal(activate());
		expect(error.message).toMatch(words);
		return await assertSecret(undefined, error);
	}
	await assertSecret(await activate());
});

test('events, with the token in every field, and their files', async () => {
	const trigger = await activateListening({
		parameters: { ...onAll, options: { download: true } },
	});
	const address = `${sim.baseUrl}/files/x.wav?token=${sim.token}`;
	sim.fault({ ...on.file, ...always, ...answer(200, Buffer.alloc(2000, 1)) });
	says('/v1/labs/task/', 200, { id: sim.token, status: 'completed', audio_url: address });
	sim.push(message('4712', 40));
	sim.push(message('4711', 100));
	await trigger.has(3);
	expect(JSON.stringify(trigger.started)).toContain('*****');
	await assertSecret(trigger);
});

test.each([
	[
		'whose file cannot be fetched',
		{ options: { download: true } },
		() => sim.fault({ ...on.file, ...always, ...answer(410, { error: echo() }) }),
	],
	[
		'that fails',
		{ events: ['failed'] },
		() => says('/v1/labs/task/', 200, { id: 1, status: 'error', error: `failed for ${echo()}` }),
	],
])('a task %s', async (_, parameters, arrange) => {
	const trigger = await activateListening({ parameters });
	arrange();
	await createTask('Gone');
	const [started] = await trigger.has(1);
	expect(started?.item.json.error).toContain('*****');
	await assertSecret(trigger);
});

test('a token that is refused while the workflow is active', async () => {
	fakeTime();
	const trigger = await activateListening();
	await pass(15);
	says('/v1/', 401, { error: `invalid token ${echo()}` });
	sim.push(message('4711', 100));
	await passUntil(() => trigger.errors.length > 0 && sim.sockets() === 0, 200);
	jest.useRealTimers();
	expect(trigger.errors[0]!.message).toMatch(/refused the API token/);
	await assertSecret(trigger);
});
