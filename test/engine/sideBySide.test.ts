import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { IDataObject } from 'n8n-workflow';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { allClosed, expectServed, good } from './seen';
import { answer, onFile, posts } from './service';
import { begin, credential, EACH, image, node, run, sim, speech, workflow } from './setup';

/*
 * Two copies of the package in one n8n, as when one is installed and another lies in ~/.n8n/custom: all
 * that a process shares for an account is there twice.
 */

const project = join(__dirname, '../..');
const folder = temporaryFolder('side-by-side');
let other: typeof import('../../demo/engine.mts');

beforeAll(() => {
	cpSync(join(project, 'dist'), join(folder.path, 'dist'), { recursive: true });
	cpSync(join(project, 'package.json'), join(folder.path, 'package.json'));
	mkdirSync(join(folder.path, 'node_modules'));
	const dependency = 'node_modules/n8n-workflow';
	symlinkSync(join(project, dependency), join(folder.path, dependency), 'junction');
	// One n8n: only what loads the package is there twice.
	const n8n = jest.requireActual('../../demo/n8n.mts');
	process.env.MEDIA_GENERATION_PACKAGE = folder.path;
	jest.isolateModules(() => {
		jest.doMock('../../demo/n8n.mts', () => n8n);
		other = require('../../demo/engine.mts');
	});
	delete process.env.MEDIA_GENERATION_PACKAGE;
});
afterAll(() => folder.remove());

const optionsOf = (parameters: IDataObject, items: IDataObject[] = [{}]) => ({
	workflow: workflow(node(parameters)),
	credentials: { mediaGenerationApi: credential() },
	input: items.map((json) => ({ json })),
});

test('both speak at once for one account: each item once, each with its own file', async () => {
	const textsOf = (name: string) => [0, 1, 2].map((n) => ({ t: `${name} ${n} [sim:slow=9000]` }));
	const subject = speech(EACH);
	const mine = await begin(subject, { items: textsOf('One') });
	const its = await other.startWorkflow(optionsOf(subject, textsOf('Other')));
	await sim.waitFor(() => sim.tasks.size === 6);
	// One socket for each copy.
	await sim.waitFor(() => sim.sockets() === 2);
	for (const id of sim.tasks.keys()) sim.endTask(id);
	const results = { One: await mine.finished, Other: await its.finished };
	for (const [name, result] of Object.entries(results)) {
		const spoken = good(result);
		expect(spoken.map(({ json }) => ({ t: json.input }))).toEqual(textsOf(name));
		for (const item of spoken) await expectServed(result, item);
	}
	expect(sim.creates).toBe(6);
	await allClosed();
});

test.each([
	['speech', () => speech('Hello.')],
	['an image', () => image('A paper boat')],
])('%s that one has paid for is collected by the other', async (_, fields) => {
	const parameters = fields();
	onFile(answer(410));
	const failed = await run(parameters);
	expect(failed.error).toBeDefined();
	const result = await other.runWorkflow({ ...optionsOf(parameters), retryOf: failed.run });
	expect(good(result)).toHaveLength(1);
	expect(posts()).toBe(1);
	await allClosed();
});
