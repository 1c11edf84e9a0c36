import { logged, removeLog } from './log.mts';
import { removeEngineFolder } from '../../demo/engine.mts';
import { contentsOf, findToken } from './canary.mts';
import { assertClean } from './check.mts';
import { always, answer, on } from './row.mts';
import { OPERATIONS } from '../service/operations.mts';
import { NODE, onStage, Stage } from './stage.mts';

/*
 * A service that repeats the token in all its responses. The token must not be in the saved run, the messages, the hints,
 * the log or the names of files. For failures, see `echoing` in matrix.mts.
 */

afterAll(() => {
	removeEngineFolder();
	removeLog();
});

/** Returns a record with the token in each field, in the name of a field, and in the URL of its file. */
const full = (token: string, address: string) => ({
	id: token,
	task_id: token,
	voice_id: token,
	name: `Voice ${token}`,
	prompt: token,
	status: 'completed',
	[token]: { nested: [token, encodeURIComponent(token)] },
	file_url: address,
	audio_url: address,
	created_at: token,
});

test.concurrent.each(OPERATIONS)(
	'success, with the token in every field (%s)',
	async (operation) =>
		await onStage(operation, async (stage) => {
			const { sim } = stage;
			// The file exists, and its URL contains the token.
			const { audioUrl } = [...sim.tasks.values()][0] ?? {};
			const fileUrl = audioUrl ?? `${sim.fileOrigin}/files/any`;
			const body = full(sim.token, `${sim.baseUrl}${new URL(fileUrl).pathname}?token=${sim.token}`);
			const { action } = answer(200, /getAll/.test(operation) ? [body] : body);
			const headers = {
				'Content-Type': `audio/wav; name=${sim.token}`,
				'Content-Disposition': `attachment; filename="${sim.token}.wav"`,
			};
			for (const method of ['POST', 'GET', 'DELETE']) sim.fault({ ...always, method, action });
			sim.fault({ ...on.file, ...always, ...answer(200, Buffer.alloc(2000, 1), headers) });
			const result = await stage.run();
			expect(result.error?.message).toBeUndefined();
			// Delete outputs nothing of the response.
			const shown = JSON.stringify(result.items(NODE));
			if (operation !== 'speech:delete') expect(shown).toContain('*****');
			await assertClean(stage, result);
		}),
);

test.concurrent.each(['speech:speak', 'image:create'] as const)(
	'a token that somebody has typed as the text is not put out (%s)',
	async (operation) =>
		await onStage(operation, async (stage) => {
			const { sim } = stage;
			const result = await stage.run({ text: `A lighthouse, ${sim.token}` });
			const shown = JSON.stringify(result.items(NODE));
			expect(shown).toContain('A lighthouse, *****');
			expect(findToken(sim.token, { shown, messages: stage.messages.join() })).toBeUndefined();
		}),
);

test('no token is in the log, or in what n8n has stored', async () => {
	const log = await logged();
	expect(log).toContain('Media Generation, row 1');
	const stored = contentsOf(process.env.N8N_USER_FOLDER!);
	expect(stored).toMatch(/-_+\.\w+/);
	expect(findToken(Stage.tokens, { log, stored })).toBeUndefined();
});
