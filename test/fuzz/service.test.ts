import fc from 'fast-check';
import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { removeEngineFolder, runWorkflow } from '../../demo/engine.mts';
import { findToken } from '../faults/canary.mts';
import { saved } from '../faults/check.mts';
import { NODE, workflowOf } from '../faults/workflow.mts';
import { runs, seed } from './check';
import { behaviours, right } from './corpus';
import { behaviour, type Behaviour } from './randomAnswers';
import { startRandomService } from './randomService';

afterAll(() => removeEngineFolder());

/** Each operation, with limits that end it soon. */
const SPEECH = { timeout: 2, pollInterval: 1 };
const GENERATION = { prompt: 'A boat', options: { timeout: 2, idleTimeout: 1 } };
const OPERATIONS: Record<string, IDataObject> = {
	'speech:speak': {
		text: 'Hello',
		voiceId: { __rl: true, mode: 'id', value: 'v' },
		options: SPEECH,
	},
	'speech:get': { taskId: '7', download: true },
	'speech:wait': { taskId: '7', options: SPEECH },
	'speech:delete': { taskId: '7' },
	'voice:getAll': { returnAll: true },
	'video:textToVideo': { ...GENERATION, numberOfVideos: 2 },
	'video:ingredientsToVideo': GENERATION,
	'video:framesToVideo': { options: GENERATION.options },
	'image:create': GENERATION,
	'history:getAll': { limit: 20, options: { download: true } },
	'account:get': {},
};

const PNG = Buffer.from('89504e470d0a1a0a0001', 'hex').toString('base64');
const ITEM: INodeExecutionData = {
	json: {},
	binary: { data: { data: PNG, mimeType: 'image/png', fileName: 'a.png' } },
};

interface Case {
	operation: string;
	goesOn: boolean;
	items?: number;
	service: Behaviour;
}

const aCase = (operation: string): fc.Arbitrary<Case> =>
	fc.record({
		operation: fc.constant(operation),
		goesOn: fc.boolean(),
		items: fc.constantFrom(1, 1, 3),
		service: behaviour,
	});

/** Words of a program, not of somebody who explains. */
const SLIP =
	/undefined|\[object|NaN|is not a function|Cannot read|Unexpected token|TypeError|URIError|<html|call stack/i;

/** On a busy machine the longest takes a minute. */
const LATEST_MS = 200_000;

let count = 0;

/** Runs one case; what was wrong with it. */
async function wrongsOf({
	operation,
	goesOn,
	items = 1,
	service: behaves,
}: Case): Promise<string[]> {
	const wrongs: string[] = [];
	// One that looks different in addresses, and one that is a good file name.
	const token =
		++count % 2 === 0 && !behaves.tokenAsId
			? `sk-${count}/secret+${seed()}=`
			: `sk-${count}-secret-${seed()}`;
	const service = await startRandomService(behaves, token);
	const [resource, name] = operation.split(':');
	const shown: string[] = [];
	const began = Date.now();
	try {
		const result = await runWorkflow({
			workflow: workflowOf(
				{ resource, operation: name, ...OPERATIONS[operation] },
				goesOn ? { onError: 'continueRegularOutput' } : {},
			),
			input: Array.from({ length: items }, () => ITEM),
			credentials: { mediaGenerationApi: { apiToken: token, baseUrl: service.origin } },
			onMessage: (text) => shown.push(text),
			// A file may hold the token: whatever the service says in it is the user's.
			binaryMode: 'filesystem',
		});
		const seconds = (Date.now() - began) / 1000;
		if (seconds > 100) wrongs.push(`it took ${seconds} s`);

		const { error } = result;
		const output = result.items(NODE);
		const words = [
			...(error ? [error.message, String(error.description ?? '')] : []),
			...output.flatMap(({ json }) => (goesOn && json.error ? [String(json.error)] : [])),
		];
		if (error && !['NodeApiError', 'NodeOperationError'].includes(error.name)) {
			wrongs.push(`a ${error.name}: ${error.message}`);
		}
		if (error && goesOn) wrongs.push(`it did not go on: ${error.message}`);
		if (error && !error.message) wrongs.push('an error without words');
		// What the service says may be anything.
		const said = JSON.stringify(behaves);
		for (const text of words) {
			const slip = SLIP.exec(text)?.[0];
			if (slip && !said.toLowerCase().includes(slip.toLowerCase())) wrongs.push(`it says: ${text}`);
			if (text.length > 20_000) wrongs.push(`a text of ${text.length} characters`);
		}
		const leak = findToken(token, { run: saved(result.run), messages: shown.join('\n') });
		if (leak) wrongs.push(`the token is in the ${leak}`);
		const accepted = service.answered.filter(
			({ method, status }) => method === 'POST' && status !== 429,
		);
		if (accepted.length > items) wrongs.push(`${accepted.length} create calls`);
		if (service.answered.length > 60 * items) wrongs.push(`${service.answered.length} requests`);
	} catch (error) {
		wrongs.push(`the engine failed: ${(error as Error).stack}`);
	} finally {
		await service.close();
	}
	return wrongs;
}

/** A case that hangs is told by name, long before the test itself would end. */
const lateOf = async (late: Case) =>
	await new Promise<string[]>((resolve) => {
		setTimeout(() => resolve([`${late.operation} hangs`]), LATEST_MS).unref();
	});

/** Runs cases side by side: they wait far more than they compute. */
async function runAll(cases: Case[]): Promise<string[]> {
	const found: string[] = [];
	const queue = [...cases];
	const work = async () => {
		for (let next = queue.shift(); next; next = queue.shift()) {
			const wrongs = await Promise.race([wrongsOf(next), lateOf(next)]);
			for (const wrong of wrongs) found.push(`${wrong}\n  ${JSON.stringify(next).slice(0, 3000)}`);
		}
	};
	await Promise.all(Array.from({ length: 24 }, work));
	return found;
}

/* Jest fails a test from which a rejection or an exception escapes. */
describe('a service that answers anything', () => {
	it('gets output or words from every operation, within seconds, and is paid once', async () => {
		const from = seed();
		const cases = Object.keys(OPERATIONS).flatMap((operation, index) =>
			fc.sample(aCase(operation), { seed: from + index, numRuns: runs(3) }),
		);
		const found = await runAll([...behaviours, ...cases]);
		expect({ seed: from, found }).toEqual({ seed: from, found: [] });
	});

	const made = (operation: string, ...answers: Behaviour['answers']): Case => ({
		operation,
		goesOn: true,
		service: { answers, tokenAsId: true },
	});

	it('can make the token the id of everything, and it is shown nowhere', async () => {
		const failedTask = [right({ body: { right: 1 } }), right({ body: { right: 4 } })];
		const cases = [
			made('speech:speak', ...failedTask),
			made('image:create', right()),
			made('history:getAll', right()),
		];
		expect(await runAll(cases)).toEqual([]);
	});
});
