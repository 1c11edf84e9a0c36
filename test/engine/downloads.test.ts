import { allClosed, bad, good, only } from './seen';
import { ALWAYS, answer, onCreate, onFile, onRead, tasks } from './service';
import { run, sim, speech, start } from './setup';

const files = () => sim.requests.filter(({ path }) => path.startsWith('/files/'));
const task = () => tasks()[0]!;

test.each(['as the address itself', 'behind a redirect'])(
	'an address elsewhere with the token in it is not followed: %s',
	async (where) => {
		await start({ dialect: { relativeAudioUrl: true } });
		const elsewhere = `${sim.fileOrigin}/files/audio.wav?token=${encodeURIComponent(sim.token)}`;
		if (where === 'behind a redirect') onFile({ redirect: elsewhere });
		else onRead(answer(200, { id: 1, status: 'completed', audio_url: elsewhere }), ALWAYS);
		const { message } = bad(await run(speech('Hi.')));
		expect(message).toMatch(/could not be downloaded: its address, on another host, contains/);
		expect(files().filter(({ on }) => on === 'file')).toEqual([]);
	},
);

describe('a file on the origin of the API', () => {
	const tokens = () => files().map(({ headers }) => headers.authorization !== undefined);

	test('that is refused with and without the token', async () => {
		await start({ dialect: { relativeAudioUrl: true } });
		onFile(answer(401, { error: 'expired for you' }), ALWAYS);
		const { message, description } = bad(await run(speech('Hi.')));
		expect(message).toMatch(/401 \(expired for you\)/);
		expect(message).toContain(task().id);
		expect(description).toContain(`Speech → Collect with task ID ${task().id}`);
		expect(tokens().at(-1)).toBe(false);
		await allClosed();
	});
});

test('a task id of odd characters makes a harmless file name', async () => {
	good(await run(speech('Hi.', {}, { waitForCompletion: false })));
	await sim.waitFor(() => task().audioUrl !== undefined);
	onCreate(answer(200, { task_id: 'a:b"c%é' }));
	const read = answer(200, { id: 1, status: 'completed', audio_url: task().audioUrl });
	onRead(read, { path: '/v1/labs/task/a%3Ab', times: 9 });
	const { json, binary } = only(await run(speech('Hi.')));
	expect(json.task_id).toBe('a:b"c%é');
	expect(binary?.data?.fileName).toMatch(/^speech-[\w.-]+\.wav$/);
});
