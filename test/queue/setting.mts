import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
	startSimulator,
	type Simulator,
	type SimulatorOptions,
	type TaskRecord,
} from '../../simulator/simulator.mts';
import { nodeOf, readExample, type FileNode } from '../../tools/examples.mts';
import { importCredentials, importExamples, type Credential } from '../../tools/n8n/examples.mts';
import { activate, runByWebhook } from '../../tools/n8n/executions.mts';
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

export const TRIGGER = 'When clicking ‘Execute workflow’';

type Connections = Record<
	string,
	{ main: Array<Array<{ node: string; type: string; index: number }>> }
>;

/** A workflow file, as far as tests change it. */
export class WorkflowFile {
	readonly content: {
		id: string;
		name: string;
		nodes: FileNode[];
		connections: Connections;
		settings: object;
	};

	/** A webhook takes the place of the example's trigger. */
	constructor(exampleName: string, id: string, trigger = TRIGGER) {
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

	/** The lines to speak come with the webhook's call. */
	withLinesOfTheCall(): this {
		const { assignments } = this.node('Lines').parameters;
		assignments.assignments[0].value = `={{ $('${TRIGGER}').first().json.body.lines }}`;
		return this;
	}

	/** Appends a node behind others; `from` are the nodes that feed its inputs, in their order. */
	add(node: FileNode, from: string[]): this {
		const { id, nodes, connections } = this.content;
		const place = { id: `${id}-${nodes.length}`, position: [200 * nodes.length, 0] };
		nodes.push({ ...node, ...place });
		for (const [index, source] of from.entries()) {
			const outputs = (connections[source] ??= { main: [[]] });
			outputs.main[0]!.push({ node: node.name, type: 'main', index });
		}
		return this;
	}
}

export interface Setting {
	cluster: Cluster;
	simulator: Simulator;
	rest: Rest;
	/** Starts a workflow by its webhook; resolves to the execution's id. */
	call(workflowId: string, body?: object): Promise<string>;
	/** The tasks whose text contains a word. */
	tasksAbout(word: string): TaskRecord[];
	/** Lets the service finish them now. */
	endTasksAbout(word: string): void;
	close(): Promise<void>;
}

interface Extras {
	simulator?: SimulatorOptions;
	/** Variables for all processes of n8n. */
	environment?: NodeJS.ProcessEnv;
	credentialsFor?: (cluster: Cluster) => Credential[];
}

/** A cluster that runs, with the given workflows, published, and the credentials that they need. */
export async function setUp(workflows: WorkflowFile[], extras: Extras = {}): Promise<Setting> {
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
		await importCredentials(main, extras.credentialsFor?.(cluster) ?? []);
		const folder = join(main.folder, 'workflows');
		mkdirSync(folder);
		for (const { content } of workflows) {
			writeFileSync(join(folder, `${content.id}.json`), JSON.stringify(content));
		}
		await main.command('import:workflow', '--separate', `--input=${folder}`);
		await cluster.start();
		const rest = await Rest.of(main);
		for (const { content } of workflows) await activate(rest, content.id);
		const call = async (workflowId: string, body: object = {}) =>
			await runByWebhook(rest, workflowId, body);
		const tasksAbout = (word: string) =>
			[...simulator.tasks.values()].filter(({ input }) => input.includes(word));
		const endTasksAbout = (word: string) => {
			for (const { id } of tasksAbout(word)) simulator.endTask(id);
		};
		return { cluster, simulator, rest, call, tasksAbout, endTasksAbout, close };
	} catch (error) {
		await close();
		throw error;
	}
}
