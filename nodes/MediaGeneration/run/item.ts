import type { INodeExecutionData } from 'n8n-workflow';
import type { Api } from '../../shared/api/api';
import type { ServiceRecord } from '../../shared/contract';
import { maxPaid } from '../../shared/n8n/descriptions';
import { NodeParameters } from '../../shared/n8n/parameters';
import { saysNothing } from '../../shared/parsing/errorText';
import type { Stretches } from '../paid/resume';
import { ItemLog } from './itemLog';
import type { Run } from './run';

/** One input item at work. */
export class Item {
	readonly parameters: NodeParameters;
	readonly log: ItemLog;

	constructor(
		readonly run: Run,
		readonly index: number,
	) {
		this.log = new ItemLog(run, index);
		// A model takes text only: it can be given a file's address, but not the file.
		this.parameters = new NodeParameters(
			(name, fallback) => run.context.getNodeParameter(name, index, fallback as never),
			!run.isTool,
		);
	}

	get api(): Api {
		return this.run.api;
	}

	/**
	 * Takes note of what an earlier attempt has left, which is named in the error also if the run ends
	 * before this item's work begins, and counts the paid requests that are still to be sent.
	 */
	planPaid(stretches?: Stretches): void {
		const limit = this.parameters.numberOption(maxPaid);
		const { resume, spending } = this.run;
		if (limit === 0 && resume.isEmpty) return;
		const unpaid = resume.keysOf(this.index, stretches).filter((key) => {
			const earlier = resume.find(key);
			return earlier === undefined || earlier.doubtful;
		});
		if (limit > 0) spending.plan(this.index, unpaid.length, limit);
	}

	/** A create call goes out, perhaps not for the first time. */
	asked(): void {
		this.log.asked();
		this.run.spending.sent();
	}

	/** The service has definitely not accepted it: the next attempt has to send the request of `key` again. */
	refused(key: string): void {
		this.run.resume.remove(key);
		this.run.spending.refused();
	}

	/** Shows progress in the browser's console to whoever runs the workflow by hand. */
	tell(text: string): string {
		const message = this.run.credential.redact.text(`Item ${this.index}: ${text}`);
		this.run.context.sendMessageToUI(message);
		return message;
	}

	/** The same, plus a line in n8n's log, which costs some 50 µs even when it is not written. */
	report(text: string): void {
		this.run.context.logger.debug(`Media Generation, ${this.tell(text)}`);
	}

	hint(about: string, message: string): void {
		this.run.hint(about, message, this.index);
	}

	/** One output item that belongs to this input item. */
	output(json: ServiceRecord, binary?: INodeExecutionData['binary']): INodeExecutionData {
		// n8n takes an item with an `error` field for a failed one, and Retry On Fail runs the node again.
		if (saysNothing(json.error)) delete json.error;
		return {
			json: this.run.credential.redact.value(json) as INodeExecutionData['json'],
			...(binary ? { binary } : {}),
			pairedItem: { item: this.index },
		};
	}
}
