import { logged, removeLog } from './log.mts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeEngineFolder } from '../../demo/engine.mts';
import { canary, contentsOf, findToken } from './canary.mts';
import { assertClean, saved } from './check.mts';
import { ECHOES, echo, GENERATIONS, type Echo } from './echoes.mts';
import { NODE, OPERATIONS, Stage } from './stage.mts';

/*
 * A service that says the token in everything it says. Nothing of it may come to light: not in the
 * saved run, the messages, the hints, the log, or the names of files.
 */

afterAll(() => {
	removeEngineFolder();
	removeLog();
});

const MODES = ['stopWorkflow', 'continueRegularOutput', 'continueErrorOutput'] as const;

const cases = Object.entries(ECHOES).flatMap(([kind, row]) =>
	row.operations.map((operation, index) => ({
		kind,
		operation,
		row,
		onError: MODES[index % MODES.length]!,
	})),
);

function arrange(stage: Stage, { create, read, file }: Partial<Echo>): void {
	const { sim } = stage;
	const always = { times: Infinity };
	if (create) sim.fault({ ...always, method: 'POST', action: create(sim.token, stage) });
	if (read) sim.fault({ ...always, method: 'GET', action: read(sim.token, stage) });
	if (read) sim.fault({ ...always, method: 'DELETE', action: read(sim.token, stage) });
	if (file) sim.fault({ ...always, on: 'file', action: file(sim.token, stage) });
}

test.concurrent.each(cases)(
	'$kind, with the token in it ($operation, $onError)',
	async ({ row, operation, onError }) => {
		const stage = await Stage.open(operation);
		try {
			arrange(stage, row);
			const setting = row.setting?.(stage.sim.token) ?? {};
			const result = await stage.run({ ...setting, node: { onError } });
			const failed = result.run.data.resultData.runData[NODE]![0]!.data?.main!.flat() ?? [];
			const words = result.error?.message ?? failed.map((item) => item?.json.error).join();
			expect(words).toMatch(row.says);
			await assertClean(stage, result);
		} finally {
			await stage.close();
		}
	},
	180_000,
);

/** The token in every field of a record, in a name of a field, and in the address of the file. */
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

test.concurrent.each(OPERATIONS.map((operation) => ({ operation })))(
	'success, with the token in every field ($operation)',
	async ({ operation }) => {
		const stage = await Stage.open(operation);
		try {
			const { sim } = stage;
			// A file that is there, at an address with the token in it.
			const { audioUrl } = [...sim.tasks.values()][0] ?? {};
			const made = audioUrl ?? `${sim.fileOrigin}/files/any`;
			const body = full(sim.token, `${sim.baseUrl}${new URL(made).pathname}?token=${sim.token}`);
			const answer = { respond: { status: 200, body: /getAll/.test(operation) ? [body] : body } };
			const headers = {
				'Content-Type': `audio/wav; name=${sim.token}`,
				'Content-Disposition': `attachment; filename="${sim.token}.wav"`,
			};
			arrange(stage, {
				create: () => answer,
				read: () => answer,
				file: () => ({ respond: { status: 200, headers, body: Buffer.alloc(2000, 1) } }),
			});
			const result = await stage.run();
			expect(result.error?.message).toBeUndefined();
			// Deleting puts out nothing that the service says.
			const shown = JSON.stringify(result.items(NODE));
			if (operation !== 'speech:delete') expect(shown).toContain('*****');
			await assertClean(stage, result);
		} finally {
			await stage.close();
		}
	},
);

test.concurrent.each(GENERATIONS.map((operation) => ({ operation })))(
	'a retry fetches a file whose address holds the token, and nothing of it is saved ($operation)',
	async ({ operation }) => {
		const stage = await Stage.open(operation);
		try {
			const { sim } = stage;
			const address = `${sim.baseUrl}/files/x.png?token=${encodeURIComponent(sim.token)}&raw=${sim.token}`;
			const body = [{ id: 'x', file_url: address }];
			sim.fault({ method: 'POST', action: { respond: { status: 200, body } } });
			sim.fault({ on: 'file', action: { respond: { status: 410 } } });
			const respond = { status: 200, body: Buffer.alloc(2000, 1) };
			sim.fault({ on: 'file', times: 9, action: { respond } });
			const failed = await stage.run();
			expect(failed.error?.message).toMatch(/could not be fetched/);
			expect(findToken(sim.token, { run: saved(failed.run) })).toBeUndefined();
			const again = await stage.run({ retryOf: failed.run });
			expect(again.items(NODE)[0]?.binary?.data?.bytes).toBe(2000);
			await assertClean(stage, again);
			const asked = sim.requests.filter(({ path }) => path === '/files/x.png');
			expect(asked.map(({ query }) => [query.token, query.raw])).toEqual(
				// An address that is taken apart has a space for each "+".
				asked.map(() => [sim.token, sim.token.replace('+', ' ')]),
			);
			expect(asked.length).toBe(2);
		} finally {
			await stage.close();
		}
	},
);

test('every kind of failure is said without the token, whatever its facts hold', async () => {
	const { Failure } = require('../../dist/nodes/shared/failure.js');
	const { toNodeError } = require('../../dist/nodes/shared/n8n/nodeErrors.js');
	const source = readFileSync(join(__dirname, '../../nodes/shared/failure.ts'), 'utf8');
	const kinds = [...source.split('export interface')[0]!.matchAll(/\| '(\w+)'/g)].map(
		([, kind]) => kind!,
	);
	expect(kinds.length).toBeGreaterThan(20);
	expect(Object.keys(ECHOES).filter((kind) => !kinds.includes(kind))).toEqual([]);
	const token = canary();
	const text = echo(token);
	for (const kind of kinds) {
		const facts = {
			field: text,
			text,
			host: text,
			taskId: token,
			fileUrl: `https://files.example/?token=${encodeURIComponent(token)}`,
			otherFiles: [token],
			lastNews: text,
			candidates: [{ id: token, createdAt: token, prompt: token }],
			maybeAccepted: true,
		};
		const node = { name: 'N', parameters: {} };
		const error = toNodeError(new Failure(kind, facts), { node, apiToken: token, note: text });
		const own = Object.getOwnPropertyNames(error).map((name) => [name, error[name]]);
		expect(findToken(token, { [kind]: JSON.stringify(own) })).toBeUndefined();
	}
});

test('no token is in the log, or in what n8n has stored', async () => {
	const log = await logged();
	expect(log).toContain('Media Generation, Item 0');
	const stored = contentsOf(process.env.N8N_USER_FOLDER!);
	expect(stored).toMatch(/-_+\.\w+/);
	expect(findToken(Stage.tokens, { log, stored })).toBeUndefined();
});
