import type { WorkflowResult } from '../../demo/engine.mts';
import type { SimulatorOptions } from '../../simulator/simulator.mts';
import { isPaid, type Operation, type Setting, type Stage } from './stage.mts';

/** One fault, what it is done to, and what has to come of it. */
export interface Row {
	/** What goes wrong, in words. */
	fault: string;
	operations: readonly Operation[];
	/** How the service is, before anything goes wrong. */
	service?: SimulatorOptions;
	setting?: Setting;
	/** Puts the fault in place; may say what the node is set to because of it. */
	make?(stage: Stage): Promise<Setting | void> | Setting | void;
	/** Goes on while the node runs. */
	during?(stage: Stage): Promise<void>;
	/** Whether what was asked for comes out whole, or the node fails. */
	outcome: 'result' | 'fails';
	/** Part of the message when it fails, of a hint when it does not; … stands for anything. */
	says?: string;
	/** What the reader of the document should know besides. */
	note?: string;
	/** Create calls sent; 1 unless told. */
	sent?: number;
	/** Create calls accepted, hence paid; 1 unless told. */
	paid?: number;
	/** It takes many seconds: begun first, it ends with the others. */
	isLong?: boolean;
	/** Only under n8n's protection against requests into its own network. */
	isProtected?: boolean;
	check?(stage: Stage, result: WorkflowResult): void;
}

export interface Group {
	title: string;
	rows: Row[];
}

/** Create calls that a row expects of an operation: sent and paid. */
export function expectedCalls(row: Row, operation: Operation): { sent: number; paid: number } {
	if (!isPaid(operation)) return { sent: 0, paid: 0 };
	return { sent: row.sent ?? 1, paid: row.paid ?? 1 };
}

/** The expression that a row's words stand for. */
export const wordsOf = (says: string): RegExp =>
	new RegExp(
		says
			.split('…')
			.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
			.join('.*'),
		's',
	);

export const SPEAK: Operation = 'speech:speak';
export const VIDEO: Operation = 'video:textToVideo';
export const IMAGE: Operation = 'image:create';
export const GENERATIONS: readonly Operation[] = [
	VIDEO,
	'video:ingredientsToVideo',
	'video:framesToVideo',
	IMAGE,
];
export const CREATING: readonly Operation[] = [SPEAK, ...GENERATIONS];
/** Those that read from the service at once. */
export const READING: readonly Operation[] = [
	'speech:get',
	'speech:wait',
	'voice:getAll',
	'history:getAll',
	'account:get',
];
/** Those that fetch a file. */
export const FETCHING: readonly Operation[] = [SPEAK, 'speech:get', VIDEO, IMAGE, 'history:getAll'];

/** Faults of the create call, of the readings and of the files, for `sim.fault`. */
export const onCreate = { method: 'POST', path: '/v1/' };
export const onRead = { method: 'GET', path: '/v1/' };
export const onFile = { on: 'file' } as const;
export const always = { times: Infinity };

/** One event of a generation stream. */
export const event = (name: string, data: unknown): string =>
	`event: ${name}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
export const status = (word: string): string =>
	event('video_generation_status', JSON.stringify(word));

export const PAGE =
	'<!DOCTYPE html><html><head><title>Oops</title></head><body><h1>Oops</h1></body></html>';
