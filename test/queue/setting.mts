import { startSimulator, type SimulatorOptions } from '../../simulator/simulator.mts';
import { nodeOf, readExample, type FileNode } from '../../tools/examples.mts';
import { importExamples, importInto, type Credential } from '../../tools/n8n/examples.mts';
import { activate, BY_HAND, runByWebhook } from '../../tools/n8n/executions.mts';
import { Rest } from '../../tools/n8n/rest.mts';
import { prepareCluster, type Cluster } from '../../tools/queue/cluster.mts';
import { example } from '../n8n/setting.mts';

/** So that a killed worker is missed within seconds: n8n's own figures are 60, 10 and 30 s. */
const IMPATIENT = {
	QUEUE_WORKER_LOCK_DURATION: '10000',
	QUEUE_WORKER_LOCK_RENEW_TIME: '2000',
	QUEUE_WORKER_STALLED_INTERVAL: '4000',
};

/** As in n8n 3: executions by hand go to the workers, too. */
const BY_HAND_ON_WORKERS = { OFFLOAD_MANUAL_EXECUTIONS_TO_WORKERS: 'true' };

/** A workflow file, as far as tests change it. */
export class WorkflowFile {
	readonly content: {
		id: string;
		name: string;
		nodes: FileNode[];
		connections: object;
		settings: object;
	};

	/** A webhook takes the place of the example's trigger. */
	constructor(exampleName: string, id: string, trigger = BY_HAND) {
		this.content = readExample(example(exampleName).path);
		Object.assign(this.content, { id, name: id });
		Object.assign(this.node(trigger), {
			type: 'n8n-nodes-base.webhook',
			typeVersion: 2,
			webhookId: id,
			parameters: { httpMethod: 'POST', path: id, responseMode: 'onReceived' },
		});
	}

	node(name: string): FileNode {
		return nodeOf(this.content, name);
	}

	/** The texts of speak-sheet come with the webhook's call; a bad one ends the run, none is stored. */
	withLinesOfTheCall(): this {
		const lines = `$('${BY_HAND}').first().json.body.lines`;
		const { assignments } = this.node('Rows').parameters;
		assignments.assignments[0].value = `={{ ${lines}.map((text) => ({ text })) }}`;
		this.node('Store the speech').disabled = true;
		delete this.node('Speak each row').onError;
		return this;
	}
}

export type Setting = Awaited<ReturnType<typeof setUp>>;

interface Extras {
	simulator?: SimulatorOptions;
	/** Variables for all processes of n8n. */
	environment?: NodeJS.ProcessEnv;
	credentialsFor?: (cluster: Cluster) => Credential[];
}

/** A cluster that runs, with the given workflows, published, and the credentials that they need. */
export async function setUp(workflows: WorkflowFile[], extras: Extras = {}) {
	const environment = { ...IMPATIENT, ...BY_HAND_ON_WORKERS, ...extras.environment };
	const cluster = await prepareCluster(environment);
	const simulator = await startSimulator(extras.simulator);
	const close = async () => {
		await cluster.close();
		await simulator.close();
	};
	try {
		const { main } = cluster;
		await importExamples(main, { apiToken: simulator.token, baseUrl: simulator.baseUrl });
		await importInto(main, 'credentials', extras.credentialsFor?.(cluster) ?? []);
		const contents = workflows.map(({ content }) => content);
		await importInto(main, 'workflow', contents);
		await cluster.start();
		const rest = await Rest.of(main);
		for (const { id } of contents) await activate(rest, id);
		/** Starts a workflow by its webhook; resolves to the execution's id. */
		const call = async (workflowId: string, body: object = {}) =>
			await runByWebhook(rest, workflowId, body);
		/** The tasks whose text contains a word. */
		const tasksAbout = (word: string) =>
			[...simulator.tasks.values()].filter(({ input }) => input.includes(word));
		/** Lets the service finish them now. */
		const endTasksAbout = (word: string) => {
			for (const { id } of tasksAbout(word)) simulator.endTask(id);
		};
		return { cluster, simulator, rest, call, tasksAbout, endTasksAbout, close };
	} catch (error) {
		await close();
		throw error;
	}
}
