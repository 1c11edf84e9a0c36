import { logged, removeLog } from './log.mts';
import { removeEngineFolder } from '../../demo/engine.mts';
import { contentsOf, findToken } from './canary.mts';
import { casesOf, play } from './matrix.mts';
import { Stage } from './stage.mts';

/* Each row of the matrix, in n8n's engine. All wait for clocks and sockets, so many run at once. */

afterAll(() => {
	removeEngineFolder();
	removeLog();
});

test.concurrent.each(casesOf(({ isProtected }) => !isProtected))(
	'%s',
	async (_, row, operation, goesOn) => await play(row, operation, goesOn),
	300_000,
);

test('no token of all these runs is in the log, or in what n8n has stored', async () => {
	const log = await logged();
	expect(log).toMatch(/Media Generation, row 1: paid kind=speech task=\d+/);
	expect(Stage.tokens.length).toBeGreaterThan(100);
	const stored = contentsOf(process.env.N8N_USER_FOLDER!);
	expect(stored).toMatch(/speech-\d+\.wav/);
	expect(findToken(Stage.tokens, { log, stored })).toBeUndefined();
});
