import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { ICredentialDataDecryptedObject, IDataObject } from 'n8n-workflow';
import type { WorkflowFile } from '../../demo/engine.mts';
import { temporaryFolder, type TemporaryFolder } from '../../tools/cleanup.mts';
import { packAlone } from '../../tools/pack.mts';
import { cleanEnvironment } from '../../tools/process.mjs';

const project = join(import.meta.dirname, '../..');
const oldest = join(project, 'tools/oldest');

/** The Node that the oldest n8n needs at least. */
export const OLDEST_NODE = join(oldest, 'node_modules/node/bin/node');

/** What a worker is told to do. */
export type Order =
	| { kind: 'load' }
	| { kind: 'run'; workflow: WorkflowFile; credential: ICredentialDataDecryptedObject }
	| { kind: 'listen'; workflow: WorkflowFile; credential: ICredentialDataDecryptedObject }
	| { kind: 'cancel' | 'close'; of: number };

/** What came of a workflow: its last node's items, or the error that ended it. */
export interface Answer {
	error: { message: string; description: string } | undefined;
	items: Array<{
		json: IDataObject;
		file?: { name?: string; type: string; bytes: string };
	}>;
	/** What the browser's console would have shown. */
	messages: string[];
	/** The run as n8n would save it. */
	saved: string;
}

interface Reply {
	id: number;
	answer?: unknown;
	failed?: string;
	emitted?: IDataObject[];
}

/** The oldest n8n's engine, in a process of its own, with this package as it would be published. */
export class OldEngine {
	private readonly waiting = new Map<number, (reply: Reply) => void>();
	private readonly child: ChildProcess;
	private readonly folder: TemporaryFolder;
	private next = 0;

	private constructor(child: ChildProcess, folder: TemporaryFolder) {
		this.child = child;
		this.folder = folder;
		child.on('message', (reply: Reply) => this.waiting.get(reply.id)?.(reply));
		child.once('exit', (code) => {
			const failed = `The old engine's process ended with ${code}`;
			for (const [id, tell] of this.waiting) tell({ id, failed });
		});
	}

	/** Starts it with a Node, given as the path of its binary. */
	static async start(node: string): Promise<OldEngine> {
		const folder = temporaryFolder('oldest');
		const { target } = packAlone(project, folder.path, oldest);
		const worker = join(folder.path, 'worker.mjs');
		await build({
			entryPoints: [join(import.meta.dirname, 'worker.mts')],
			outfile: worker,
			bundle: true,
			platform: 'node',
			format: 'esm',
			target: 'node20',
		});
		const env = cleanEnvironment({
			MEDIA_GENERATION_ENGINE: join(oldest, 'package.json'),
			MEDIA_GENERATION_PACKAGE: target,
		});
		return new OldEngine(fork(worker, { execPath: node, execArgv: [], env }), folder);
	}

	/** What the loader finds in the package. */
	async load(): Promise<{ nodes: string[]; credentials: string[] }> {
		return (await this.order({ kind: 'load' })) as { nodes: string[]; credentials: string[] };
	}

	async run(workflow: WorkflowFile, credential: ICredentialDataDecryptedObject): Promise<Answer> {
		return await this.begin(workflow, credential).finished;
	}

	/** The same, to be canceled on the way. */
	begin(workflow: WorkflowFile, credential: ICredentialDataDecryptedObject) {
		const finished = this.order({ kind: 'run', workflow, credential }) as Promise<Answer>;
		const of = this.next;
		return { finished, cancel: async () => await this.order({ kind: 'cancel', of }) };
	}

	/** Activates a workflow that begins with a trigger; `onItem` gets what the trigger emits. */
	async listen(
		workflow: WorkflowFile,
		credential: ICredentialDataDecryptedObject,
		onItem: (json: IDataObject) => void,
	) {
		const started = this.order({ kind: 'listen', workflow, credential }, onItem);
		const of = this.next;
		await started;
		return { close: async () => await this.order({ kind: 'close', of }) };
	}

	async stop(): Promise<void> {
		const exited = new Promise((resolve) => this.child.once('exit', resolve));
		this.child.kill();
		if (this.child.exitCode === null && this.child.signalCode === null) await exited;
		this.folder.remove();
	}

	private async order(order: Order, onItem?: (json: IDataObject) => void): Promise<unknown> {
		const id = ++this.next;
		return await new Promise((resolve, reject) => {
			this.waiting.set(id, ({ answer, failed, emitted }) => {
				if (emitted) return emitted.forEach((json) => onItem?.(json));
				if (failed === undefined) resolve(answer);
				else reject(new Error(failed));
			});
			this.child.send({ ...order, id });
		});
	}
}
