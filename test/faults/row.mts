import assert from 'node:assert/strict';
import type { WorkflowResult } from '../../demo/engine.mts';
import type { Dialect, FaultRule, SimulatorOptions } from '../../simulator/simulator.mts';
import { silent, type Handler } from '../service/fakeService.mts';
import {
	isPaid,
	MEDIA,
	OPERATIONS,
	paidRow,
	takesImages,
	type Operation,
} from '../service/operations.mts';
import type { Setting, Stage } from './stage.mts';

/** One fault, the operations that it is tried with, and the outcome: the whole result, unless `fails` is set. */
export interface Row {
	/** What goes wrong, in words. */
	fault: string;
	operations: readonly Operation[];
	/** The options of the simulator. */
	service?: SimulatorOptions;
	/** The faults of the simulator. */
	faults?: FaultRule[];
	setting?: Setting;
	/** Causes what `faults` cannot. May return settings for the node. */
	make?(stage: Stage): Promise<Setting | void> | Setting | void;
	/** Runs at the same time as the node. */
	during?(stage: Stage): Promise<void>;
	/** Part of the message and description of the failure; … stands for anything. */
	fails?: string;
	/** Part of the hints of a result, likewise. */
	hints?: string;
	/** An addition for readers of docs/faults.md. */
	note?: string;
	/** How many create calls are sent; 1 by default. */
	sent?: number;
	/** How many create calls are accepted, and so charged; 1 by default. */
	paid?: number;
	/** True if the row takes many seconds. It then starts before the others. */
	isLong?: boolean;
	/** True if the row needs n8n's protection against requests into its own network. */
	isProtected?: boolean;
	/** True if the fault has its own file, so that its bytes are not compared with the simulator's. */
	isOwnFile?: boolean;
	check?(stage: Stage, result: WorkflowResult): void;
}

export const SPEAK: Operation = 'speech:speak';
export const VIDEO: Operation = 'video:textToVideo';
export const IMAGE: Operation = 'image:create';
export const WITH_IMAGES = OPERATIONS.filter(takesImages);
export const CREATING = OPERATIONS.filter(isPaid);
export const STREAMED = CREATING.filter((each) => !/^speech/.test(each));
/** The operations that only read. */
export const READING = OPERATIONS.filter((each) => !isPaid(each) && each !== 'speech:delete');
/** For each kind of media, the first operation that creates it. */
const ONE_OF_EACH_KIND = Object.keys(MEDIA).flatMap(
	(kind) => CREATING.find((each) => paidRow(each)?.kind === kind) ?? [],
);
/** The operations that download a file. */
export const FETCHING: readonly Operation[] = [...ONE_OF_EACH_KIND, 'speech:get', 'history:getAll'];

/* Parts of a fault rule: which requests it hits (once, unless `always`), and the answer to them. */
export const on = {
	create: { method: 'POST' },
	read: { method: 'GET' },
	any: {},
	file: { on: 'file' },
} as const;
export const always = { times: Infinity };
export const answer = (
	status: number,
	body?: string | object,
	headers?: Record<string, string>,
): Pick<FaultRule, 'action'> => ({ action: { respond: { status, body, headers } } });

/** The settings of a node with Retry On Fail. */
export const RETRY = { retryOnFail: true, maxTries: 2, waitBetweenTries: 0 };

/** Makes a row of the matrix. */
export const row = (
	fault: string,
	operations: readonly Operation[],
	more: Omit<Row, 'fault' | 'operations'>,
): Row => ({ fault, operations, ...more });

/** Makes a row for a dialect. It does not change the result. */
export const dialect = (
	fault: string,
	operations: readonly Operation[],
	changes: Partial<Dialect>,
): Row => row(fault, operations, { service: { dialect: changes } });

/** Puts a proxy between n8n and the service. `handle` answers the requests that match. */
export const inFront =
	(matches: RegExp, handle: Handler, times?: number): Row['make'] =>
	async (stage) =>
		void (await stage.proxy()).on(matches, handle, times);

/** The service accepts connections, but never answers. */
export const neverAnswers: Row['make'] = async (stage) => {
	stage.sim.setWebSocketMode('hang');
	(await stage.proxy()).on(/./, silent);
};

/** Asserts that no file was requested, so that no redirect or URL was followed. */
export const isNotFollowed: Row['check'] = ({ sim }) =>
	assert.ok(sim.requests.every((request) => request.receivedBy !== 'file'));

/** Returns an event of a generation stream. */
export const event = (name: string, data: unknown): string =>
	`event: ${name}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
export const status = (word: unknown): string =>
	event('video_generation_status', JSON.stringify(word));
