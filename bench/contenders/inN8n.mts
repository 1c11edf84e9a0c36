import type { Operation } from '../service.mts';
import type { N8n, Published } from '../n8n.mts';
import type { Workflow } from '../workflow.mts';
import type { Contender, Made } from './contender.mts';

/** A contender that is a workflow of n8n's for each operation. */
export class InN8n implements Contender {
	readonly name: string;
	readonly #n8n: N8n;
	readonly #requests: (operation: Operation) => number;
	readonly #workflows: Record<Operation, Published>;

	private constructor(
		name: string,
		n8n: N8n,
		requests: (operation: Operation) => number,
		workflows: Record<Operation, Published>,
	) {
		this.name = name;
		this.#n8n = n8n;
		this.#requests = requests;
		this.#workflows = workflows;
	}

	/** Publishes the workflows. */
	static async in(
		n8n: N8n,
		name: string,
		requests: (operation: Operation) => number,
		workflows: Record<Operation, Workflow>,
	): Promise<InN8n> {
		return new InN8n(name, n8n, requests, {
			speech: await n8n.publish(workflows.speech),
			video: await n8n.publish(workflows.video),
		});
	}

	async make(operation: Operation, texts: string[]): Promise<number> {
		return await this.#n8n.run(this.#workflows[operation], texts);
	}

	async made(operation: Operation): Promise<Made> {
		const executions = await this.#n8n.executions(this.#workflows[operation]);
		return {
			files: executions.flatMap(({ files }) => files),
			errors: executions.flatMap(({ error }) => error ?? []),
		};
	}

	async clear(operation: Operation): Promise<void> {
		await this.#n8n.forget(this.#workflows[operation]);
	}

	requests = (operation: Operation) => this.#requests(operation);
	memory = () => this.#n8n.memory();
	memoryInUse = async () => await this.#n8n.memoryInUse();
	peakInUse = async () => await this.#n8n.peakInUse();
}
