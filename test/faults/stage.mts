import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { ICredentialDataDecryptedObject, IDataObject, INode, IRun } from 'n8n-workflow';
import { startWorkflow, type RunningWorkflow, type WorkflowResult } from '../../demo/engine.mts';
import { binaryData } from '../../demo/n8n.mts';
import {
	startSimulator,
	type Simulator,
	type SimulatorOptions,
} from '../../simulator/simulator.mts';
import { eventually } from '../../tools/eventually.mts';
import { canary } from './canary.mts';
import { FakeService } from '../service/fakeService.mts';
import { hasField, type Operation } from '../service/operations.mts';
import { createTask, order } from '../service/order.mts';
import { itemWith, NODE, node, parametersFor, workflow } from './workflow.mts';

export { NODE };

export interface Setting {
	/** Text or prompt, with the simulator's scenario words. */
	text?: string;
	options?: IDataObject;
	parameters?: IDataObject;
	node?: Partial<INode>;
	credential?: ICredentialDataDecryptedObject;
	retryOf?: IRun;
}

/** A simulated service with an account of its own, and the node run against it in n8n's engine. */
export class Stage {
	/** Every token that was used so far. */
	static readonly tokens: string[] = [];
	/** What the node sent to the browser. */
	readonly messages: string[] = [];
	/** An existing task, for the operations that are given one. */
	taskId = 'none';
	private readonly id = `stage-${Math.random()}`;
	private fake?: FakeService;
	private paidBefore = 0;
	private readonly closers: Array<() => void> = [];

	readonly sim: Simulator;
	readonly operation: Operation;

	private constructor(sim: Simulator, operation: Operation) {
		this.sim = sim;
		this.operation = operation;
	}

	/** To be closed; `onStage` does so by itself. */
	static async open(operation: Operation, options: SimulatorOptions = {}): Promise<Stage> {
		const sim = await startSimulator({ pace: 0.01, token: canary(), ...options });
		const stage = new Stage(sim, operation);
		Stage.tokens.push(sim.token);
		await stage.prepare();
		return stage;
	}

	/** What was paid for since the stage was opened. */
	get paid(): number {
		return this.sim.chargedCalls - this.paidBefore;
	}

	/** Create calls that were sent, accepted or not. */
	posts(): number {
		if (this.fake) return this.fake.requests.filter((line) => line.startsWith('POST ')).length;
		return this.sim.countRequests('POST', '/') - this.paidBefore;
	}

	/** Puts something between n8n and the service; from now on it is the credential's address. */
	async front(): Promise<FakeService> {
		return (this.fake ??= await FakeService.inFrontOf(this.sim.baseUrl));
	}

	/** Resolves once the node has told the browser so. */
	async said(what: RegExp): Promise<void> {
		const isSaid = () => this.messages.some((text) => what.test(text));
		await eventually(`${what}`, 30_000, isSaid, 5);
	}

	/** Calls `close` when the stage is closed. */
	onClose(close: () => void): void {
		this.closers.push(close);
	}

	/** The one stand-in here: after some files this stage's bytes go where the kernel has no room. */
	fillDisk(after = 0): void {
		const service = binaryData();
		const store = service.store.bind(service);
		service.store = async (location, body, data) => {
			const isHere = 'workflowId' in location && location.workflowId === this.id;
			if (!isHere || after-- > 0) return await store(location, body, data);
			if (existsSync('/dev/full')) await writeFile('/dev/full', body);
			const message = 'ENOSPC: no space left on device, write';
			throw Object.assign(new Error(message), { code: 'ENOSPC' });
		};
	}

	/** Connections of n8n that are still in use, of whatever kind. */
	open(): number {
		return this.sim.countOpenSockets() + this.sim.countOpenConnections() + (this.fake?.open() ?? 0);
	}

	async begin(setting: Setting = {}): Promise<RunningWorkflow> {
		const text = setting.text ?? 'A lighthouse in the rain';
		const options = { pollInterval: 1, download: true, ...setting.options };
		const own = { taskId: this.taskId, voice: this.sim.voiceIds()[0]!, options };
		const parameters = { ...parametersFor(this.operation, text, own), ...setting.parameters };
		const baseUrl = this.fake?.url ?? this.sim.baseUrl;
		const credential = { apiToken: this.sim.token, baseUrl, webSocketUrl: '' };
		return await startWorkflow({
			workflow: { ...workflow(node(parameters, setting.node)), id: this.id },
			credentials: { mediaGenerationApi: { ...credential, ...setting.credential } },
			input: [itemWith()],
			binaryMode: 'filesystem',
			onMessage: (message) => this.messages.push(message),
			retryOf: setting.retryOf,
		});
	}

	async run(setting?: Setting): Promise<WorkflowResult> {
		const { finished } = await this.begin(setting);
		return await finished;
	}

	async close(): Promise<void> {
		for (const close of this.closers) close();
		await this.fake?.stop();
		await this.sim.close();
	}

	/** Makes what the operation reads: a task for those of a task, an entry for the history. */
	private async prepare(): Promise<void> {
		const { sim, operation } = this;
		if (hasField(operation, 'taskId')) {
			this.taskId = await createTask(sim, 'Made before');
			await sim.waitFor(() => sim.tasks.get(this.taskId)?.audioUrl !== undefined);
		}
		if (operation === 'history:getAll') {
			await order(sim, 'video/create-image', { prompt: 'Made before' });
		}
		this.paidBefore = sim.chargedCalls;
	}
}

/** Opens a stage, does something on it, and closes it, whatever comes of that. */
export async function onStage<T>(
	operation: Operation,
	work: (stage: Stage) => Promise<T>,
	options?: SimulatorOptions,
): Promise<T> {
	const stage = await Stage.open(operation, options);
	try {
		return await work(stage);
	} finally {
		await stage.close();
	}
}
