import { readExample } from '../../tools/examples.mts';
import { importCredentials, type Credential } from '../../tools/n8n/examples.mts';
import { runByHand, waitForEnd, type Execution } from '../../tools/n8n/executions.mts';
import { Rest } from '../../tools/n8n/rest.mts';
import { example, setUp as setUpInstance, type Setting } from '../n8n/setting.mts';

/** As long as a night may take here, on a machine that is busy with other things. */
export const NIGHT_MS = 180_000;

/** A complete n8n that runs, with the examples in it. */
export interface Storage extends Setting {
	rest: Rest;
	/** Starts a workflow as its schedule would; resolves to the execution's id. */
	begin(workflowId: string): Promise<string>;
	/** The same; resolves to its end, whichever it is. */
	night(workflowId: string): Promise<Execution>;
	/** What a power cut does: n8n is killed, and started again. */
	powerCut(): Promise<void>;
}

/** `credentials` are those of the servers that the examples use. */
export async function setUp(
	credentials: Credential[] = [],
	environment: NodeJS.ProcessEnv = {},
): Promise<Storage> {
	const setting = await setUpInstance({ pace: 0.02 }, environment);
	const { instance } = setting;
	try {
		await importCredentials(instance, credentials);
		await instance.start();
		const rest = new Rest(instance.baseUrl);
		await rest.logIn();
		const begin = async (workflowId: string) => await runByHand(rest, workflowId, 'Every night');
		return {
			...setting,
			rest,
			begin,
			night: async (workflowId) => await waitForEnd(rest, await begin(workflowId), NIGHT_MS),
			async powerCut() {
				await instance.crash();
				await instance.start();
				await rest.logIn();
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
	if (changed === text) throw new Error(`The copy of ${name} is no other than the example`);
	const { id: _, ...workflow } = JSON.parse(changed);
	return (await rest.request('POST', '/rest/workflows', workflow)).id;
}

/** What an execution says of its failure. */
export const failureOf = ({ data }: Execution): string => {
	const { message = '', description = '' } = data.resultData.error ?? {};
	return `${message}\n${description}`;
};
