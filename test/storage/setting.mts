import assert from 'node:assert/strict';
import { beforeEach } from 'node:test';
import { nodeOf, readExample } from '../../tools/examples.mts';
import { importCredentials, type Credential } from '../../tools/n8n/examples.mts';
import { runByHand, waitForEnd } from '../../tools/n8n/executions.mts';
import { Rest } from '../../tools/n8n/rest.mts';
import { example, setUp as setUpInstance, type Setting } from '../n8n/setting.mts';

/** How long a night may take, on a machine that is busy with other things. */
export const NIGHT_MS = 180_000;

/** A complete n8n that runs, with the examples in it. */
export interface Storage extends Setting {
	rest: Rest;
	/** Starts a workflow as its schedule would; resolves to the execution's id. */
	begin(workflowId: string): Promise<string>;
	/** The same, and waits until it has succeeded. */
	night(workflowId: string): Promise<void>;
	/** The same, and waits until it has failed; resolves to the failure's message and description. */
	badNight(workflowId: string): Promise<string>;
	/** How many create calls were accepted since the present test began. */
	paid(): number;
	/** What a power cut does: n8n is killed, and started again. */
	powerCut(): Promise<void>;
	/** Cuts the power while a night waits for `count` tasks about a word; then lets these end. */
	cutNight(workflowId: string, word: string, count: number): Promise<void>;
}

/** `credentials` are those of the servers that the examples use. */
export async function setUp(
	credentials: Credential[] = [],
	environment: NodeJS.ProcessEnv = {},
): Promise<Storage> {
	const setting = await setUpInstance({ pace: 0.02 }, environment);
	const { instance, simulator } = setting;
	let paidBefore = 0;
	beforeEach(() => void (paidBefore = simulator.creates));
	try {
		await importCredentials(instance, credentials);
		await instance.start();
		const rest = await Rest.of(instance);
		const begin = async (workflowId: string) => await runByHand(rest, workflowId, 'Every night');
		const end = async (workflowId: string, status: 'success' | 'error') => {
			const execution = await waitForEnd(rest, await begin(workflowId), NIGHT_MS);
			const { message = '', description = '' } = execution.data.resultData.error ?? {};
			assert.equal(execution.status, status, `${message}\n${description}`);
			return `${message}\n${description}`;
		};
		const powerCut = async () => {
			await instance.crash();
			await instance.start();
			await rest.logIn();
		};
		return {
			...setting,
			rest,
			begin,
			night: async (workflowId) => void (await end(workflowId, 'success')),
			badNight: async (workflowId) => await end(workflowId, 'error'),
			paid: () => simulator.creates - paidBefore,
			powerCut,
			async cutNight(workflowId, word, count) {
				await begin(workflowId);
				const cut = () => [...simulator.tasks.values()].filter(({ input }) => input.includes(word));
				const areCollected = () => cut().length === count && cut().every(({ reads }) => reads > 0);
				await simulator.waitFor(areCollected, NIGHT_MS);
				await powerCut();
				for (const { id } of cut()) simulator.endTask(id);
			},
		};
	} catch (error) {
		await setting.close();
		throw error;
	}
}

/** Puts a copy of an example into n8n, with its text changed; resolves to its id. */
export async function importCopy(
	rest: Rest,
	name: string,
	change: (text: string) => string,
): Promise<string> {
	const text = JSON.stringify(readExample(example(name).path));
	const changed = change(text);
	if (changed === text) throw new Error(`The copy of ${name} does not differ from the example`);
	const { id: _, ...workflow } = JSON.parse(changed);
	return (await rest.request('POST', '/rest/workflows', workflow)).id;
}

/** A copy whose node Speak splits texts of more than 12 characters. */
export const importSplitting = async (rest: Rest, name: string): Promise<string> =>
	await importCopy(rest, name, (text) => {
		const workflow = JSON.parse(text);
		nodeOf(workflow, 'Speak').parameters.options.splitLongerThan = 12;
		return JSON.stringify(workflow);
	});
