import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { temporaryFolder, type TemporaryFolder } from '../tools/cleanup.mts';
import { activate, executionsOf, waitForEnd } from '../tools/n8n/executions.mts';
import { Instance } from '../tools/n8n/instance.mts';
import { installPackage } from '../tools/n8n/package.mts';
import { freePorts } from '../tools/ports.mts';
import { Rest } from '../tools/n8n/rest.mts';
import { storedPath } from '../tools/n8n/results.mts';
import type { Workflow } from './workflow.mts';

/** The outcome of an execution. */
export interface Execution {
	/** The paths of the files that the last node has output in all its runs. */
	files: string[];
	/** Why the execution failed; undefined if it succeeded. */
	error: string | undefined;
}

/** A published workflow, which a call of its webhook starts. */
export interface Published {
	id: string;
	url: string;
	/** The node whose output counts. */
	output: string;
}

/** The complete n8n with the packed package in it. */
export class N8n {
	readonly instance: Instance;
	readonly #folder: TemporaryFolder;
	readonly #restClient: Rest;
	readonly #probe: string;

	private constructor(instance: Instance, folder: TemporaryFolder, probe: string) {
		this.instance = instance;
		this.#folder = folder;
		this.#restClient = new Rest(instance.baseUrl);
		this.#probe = probe;
	}

	static async start(): Promise<N8n> {
		const folder = temporaryFolder('bench');
		const [editor, broker, probe] = (await freePorts(3)) as [number, number, number];
		const variables = {
			NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, 'probe.mts'))}`,
			BENCH_PROBE_PORT: String(probe),
		};
		const instance = new Instance(folder.path, { editor, broker }, variables);
		const n8n = new N8n(instance, folder, `http://127.0.0.1:${probe}`);
		try {
			installPackage(folder.path);
			await instance.start();
			await n8n.#restClient.logIn();
		} catch (error) {
			await n8n.close();
			throw error;
		}
		return n8n;
	}

	async credential(type: string, data: object): Promise<{ id: string; name: string }> {
		const body = { name: type, type, data };
		const { id, name } = await this.#restClient.request('POST', '/rest/credentials', body);
		return { id, name };
	}

	/** Saves and publishes a workflow. Resolves once its webhook can be called. */
	async publish({ output, ...workflow }: Workflow): Promise<Published> {
		const saved = await this.#restClient.request('POST', '/rest/workflows', workflow);
		await activate(this.#restClient, saved.id);
		const url = `${this.instance.baseUrl}/webhook/${workflow.name}`;
		return { id: saved.id, url, output };
	}

	/** Runs a workflow to its end. Resolves with the time of the end, in ms since 1970. */
	async run({ url }: Published, texts: string[]): Promise<number> {
		const response = await fetch(url, {
			method: 'POST',
			headers: { 'Content-Type': 'application/json' },
			body: JSON.stringify({ items: texts.map((text) => ({ text })) }),
		});
		const ended = Date.now();
		await response.arrayBuffer();
		return ended;
	}

	/** Resolves with the executions of a workflow that were not deleted. */
	async executions(workflow: Published): Promise<Execution[]> {
		const executions = await executionsOf(this.#restClient, workflow.id);
		return await Promise.all(
			executions.map(async ({ id }): Promise<Execution> => {
				const { data, status } = await waitForEnd(this.#restClient, id);
				const { resultData } = data;
				const runs = resultData.runData[workflow.output] ?? [];
				const files = runs
					.flatMap((run) => run.data?.main?.[0] ?? [])
					.flatMap(({ binary = {} }) => Object.values(binary))
					.map((file) => storedPath(this.instance, file));
				const error = status === 'success' ? undefined : (resultData.error?.message ?? status);
				return { files, error };
			}),
		);
	}

	/** Deletes the executions of a workflow with their files. */
	async forget(workflow: Published): Promise<void> {
		const ids = (await executionsOf(this.#restClient, workflow.id)).map(({ id }) => id);
		if (ids.length > 0) await this.#restClient.request('POST', '/rest/executions/delete', { ids });
	}

	/** Returns the resident memory of n8n, in bytes. */
	memory(): number {
		return this.instance.residentMemoryBytes();
	}

	/** Resolves with the memory in use after a garbage collection, in bytes. */
	async memoryInUse(): Promise<number> {
		return Number(await (await fetch(`${this.#probe}/in-use`)).text());
	}

	async close(): Promise<void> {
		await this.instance.stop();
		this.#folder.remove();
	}
}
