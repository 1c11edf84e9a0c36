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
	/** The text or prompt. It may contain scenarios of the simulator. */
	text?: string;
	options?: IDataObject;
	parameters?: IDataObject;
	node?: Partial<INode>;
	credential?: ICredentialDataDecryptedObject;
	retryOf?: IRun;
}

/** A simulator with its own account, and the node that n8n's engine runs against it. */
export class Stage {
	/** The tokens of all stages so far. */
	static readonly tokens: string[] = [];
	/** The messages that the node has sent to the browser. */
	readonly messages: string[] = [];
	/** The id of an existing task, for operations that need one. */
	taskId = 'none';
	private readonly id = `stage-${Math.random()}`;
	private fake: FakeService | undefined;
	private paidBefore = 0;
	private readonly closers: Array<() => void> = [];

	readonly sim: Simulator;
	readonly operation: Operation;

	private constructor(sim: Simulator, operation: Operation) {
		this.sim = sim;
		this.operation = operation;
	}

	/** Opens a stage. The caller must close it, unless it uses `onStage`. */
	static async open(operation: Operation, options: SimulatorOptions = {}): Promise<Stage> {
		const sim = await startSimulator({ pace: 0.01, token: canary(), ...options });
		const stage = new Stage(sim, operation);
		Stage.tokens.push(sim.token);
		await stage.prepare();
		return stage;
	}

	/** How many create calls were charged since the stage was opened. */
	get paid(): number {
		return this.sim.chargedCalls - this.paidBefore;
	}

	/** Returns how many create calls were sent since then, accepted or not. */
	countCreateCalls(): number {
		if (this.fake) return this.fake.requests.filter((line) => line.startsWith('POST ')).length;
		return this.sim.countRequests('POST', '/') - this.paidBefore;
	}

	/** Returns the proxy between n8n and the simulator. The first call starts it; its URL is then the Base URL. */
	async proxy(): Promise<FakeService> {
		return (this.fake ??= await FakeService.inFrontOf(this.sim.baseUrl));
	}

	/** Resolves once the node has sent a message to the browser that matches. */
	async waitForMessage(pattern: RegExp): Promise<void> {
		const isSent = () => this.messages.some((text) => pattern.test(text));
		await eventually(`${pattern}`, 30_000, isSent, 5);
	}

	/** Calls `close` when the stage is closed. */
	onClose(close: () => void): void {
		this.closers.push(close);
	}

	/** Makes n8n's storage fail, like a full disk, after it has stored `after` files of this stage. */
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

	/** Returns how many connections and WebSockets of n8n are open. */
	countOpen(): number {
		return (
			this.sim.countOpenSockets() +
			this.sim.countOpenConnections() +
			(this.fake?.countConnections() ?? 0)
		);
	}

	async start(setting: Setting = {}): Promise<RunningWorkflow> {
		const text = setting.text ?? 'A lighthouse in the rain';
		const options = { pollInterval: 1, download: true, ...setting.options };
		const inputs = { taskId: this.taskId, voice: this.sim.voiceIds()[0]!, options };
		const parameters = { ...parametersFor(this.operation, text, inputs), ...setting.parameters };
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
		const { finished } = await this.start(setting);
		return await finished;
	}

	async close(): Promise<void> {
		for (const close of this.closers) close();
		await this.fake?.stop();
		await this.sim.close();
	}

	/** Creates what the operation reads: a task, or an entry of the history. */
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

/** Opens a stage, calls `action` with it, and closes it. Settles as `action` does. */
export async function onStage<T>(
	operation: Operation,
	action: (stage: Stage) => Promise<T>,
	options?: SimulatorOptions,
): Promise<T> {
	const stage = await Stage.open(operation, options);
	try {
		return await action(stage);
	} finally {
		await stage.close();
	}
}
