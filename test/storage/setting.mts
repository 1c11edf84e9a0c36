import assert from 'node:assert/strict';
import { beforeEach } from 'node:test';
import { importInto, type Credential } from '../../tools/n8n/examples.mts';
import { runByHand, waitForEnd } from '../../tools/n8n/executions.mts';
import type { Rest } from '../../tools/n8n/rest.mts';
import { changedExample, setUp as setUpInstance } from '../n8n/setting.mts';

/** How long a night may take, on a machine that is busy with other things. */
export const NIGHT_MS = 180_000;

/** A complete n8n that runs, with the examples in it; `credentials` are those of the servers that they use. */
export async function setUp(credentials: Credential[] = [], environment: NodeJS.ProcessEnv = {}) {
	const setting = await setUpInstance({ pace: 0.02 }, environment);
	const { instance, simulator, rest, start, close } = setting;
	let paidBefore = 0;
	beforeEach(() => void (paidBefore = simulator.creates));
	try {
		await importInto(instance, 'credentials', credentials);
		await start();
	} catch (error) {
		await close();
		throw error;
	}
	/** Starts a workflow as its schedule would; resolves to the execution's id. */
	const begin = async (workflowId: string) => await runByHand(rest, workflowId, 'Every night');
	const end = async (workflowId: string, status: 'success' | 'error') => {
		const execution = await waitForEnd(rest, await begin(workflowId), NIGHT_MS);
		const { message = '', description = '' } = execution.data.resultData.error ?? {};
		assert.equal(execution.status, status, `${message}\n${description}`);
		return `${message}\n${description}`;
	};
	/** Starts a workflow as its schedule would, and waits until it has succeeded. */
	const night = async (workflowId: string) => await end(workflowId, 'success');
	/** The same, and waits until it has failed; resolves to the failure's message and description. */
	const badNight = async (workflowId: string) => await end(workflowId, 'error');
	/** How many create calls were accepted since the present test began. */
	const paid = () => simulator.creates - paidBefore;
	/** What a power cut does: n8n is killed, and started again. */
	const powerCut = async () => {
		await instance.crash();
		await start();
	};
	/** Cuts the power while a night waits for `count` tasks about a word; then lets these end. */
	const cutNight = async (workflowId: string, word: string, count: number) => {
		await begin(workflowId);
		const cut = () => [...simulator.tasks.values()].filter(({ input }) => input.includes(word));
		const areCollected = () => cut().length === count && cut().every(({ reads }) => reads > 0);
		await simulator.waitFor(areCollected, NIGHT_MS);
		await powerCut();
		for (const { id } of cut()) simulator.endTask(id);
	};
	return { ...setting, begin, night, badNight, paid, powerCut, cutNight };
}

/** Puts a copy of an example into n8n, with its text changed; resolves to its id. */
export async function importCopy(
	rest: Rest,
	name: string,
	change: (text: string) => string,
): Promise<string> {
	const text = JSON.stringify(changedExample(name));
	const changed = change(text);
	if (changed === text) throw new Error(`The copy of ${name} does not differ from the example`);
	return (await rest.request('POST', '/rest/workflows', JSON.parse(changed))).id;
}

/** A copy whose node Speak splits texts of more than 12 characters. */
export async function importSplitting(rest: Rest, name: string): Promise<string> {
	const workflow = changedExample(name, (node) => {
		node('Speak').parameters.options.splitLongerThan = 12;
	});
	return (await rest.request('POST', '/rest/workflows', workflow)).id;
}
