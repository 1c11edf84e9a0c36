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

/** One fault, what it is done to, and what comes of it: the whole result, unless the node `fails`. */
export interface Row {
	/** What goes wrong, in words. */
	fault: string;
	operations: readonly Operation[];
	/** How the service is, before anything goes wrong. */
	service?: SimulatorOptions;
	/** What the simulator does wrong. */
	faults?: FaultRule[];
	setting?: Setting;
	/** Arranges what `faults` can't; may return settings that depend on it. */
	make?(stage: Stage): Promise<Setting | void> | Setting | void;
	/** Goes on while the node runs. */
	during?(stage: Stage): Promise<void>;
	/** Part of the message and description of the failure; … stands for anything. */
	fails?: string;
	/** The same of the hints that come with the result. */
	hints?: string;
	/** What else a reader of the document should know. */
	note?: string;
	/** Create calls sent; 1 by default. */
	sent?: number;
	/** Create calls accepted, hence paid; 1 by default. */
	paid?: number;
	/** It takes many seconds: begun first, it ends with the others. */
	isLong?: boolean;
	/** Only under n8n's protection against requests into its own network. */
	isProtected?: boolean;
	/** The file is the fault's, not the simulator's: their bytes are not compared. */
	isOwnFile?: boolean;
	check?(stage: Stage, result: WorkflowResult): void;
}

export const SPEAK: Operation = 'speech:speak';
export const VIDEO: Operation = 'video:textToVideo';
export const IMAGE: Operation = 'image:create';
export const WITH_IMAGES = OPERATIONS.filter(takesImages);
export const CREATING = OPERATIONS.filter(isPaid);
export const STREAMED = CREATING.filter((each) => !/^speech/.test(each));
/** Those that read from the service at once. */
export const READING = OPERATIONS.filter((each) => !isPaid(each) && each !== 'speech:delete');
/** The first of those that make each kind of media. */
const ONE_OF_EACH_KIND = Object.keys(MEDIA).flatMap(
	(kind) => CREATING.find((each) => paidRow(each)?.kind === kind) ?? [],
);
/** Those that fetch a file. */
export const FETCHING: readonly Operation[] = [...ONE_OF_EACH_KIND, 'speech:get', 'history:getAll'];

/** Parts of a fault: which requests it hits (once, unless `always`), and what they are answered. */
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

/** Settings of a node that n8n runs again when it fails. */
export const RETRY = { retryOnFail: true, maxTries: 2, waitBetweenTries: 0 };

/** A row of the matrix. */
export const row = (
	fault: string,
	operations: readonly Operation[],
	more: Omit<Row, 'fault' | 'operations'>,
): Row => ({ fault, operations, ...more });

/** A way in which deployments differ, which changes nothing of the result. */
export const dialect = (
	fault: string,
	operations: readonly Operation[],
	changes: Partial<Dialect>,
): Row => row(fault, operations, { service: { dialect: changes } });

/** Puts something between n8n and the service, which handles the requests that match. */
export const inFront =
	(matches: RegExp, handle: Handler, times?: number): Row['make'] =>
	async (stage) =>
		void (await stage.front()).on(matches, handle, times);

/** Connections are accepted, and nothing is ever said. */
export const isMute: Row['make'] = async (stage) => {
	stage.sim.setWebSocketMode('hang');
	(await stage.front()).on(/./, silent);
};

/** No file is fetched. */
export const isNotFollowed: Row['check'] = ({ sim }) =>
	assert.ok(sim.requests.every((request) => request.receivedBy !== 'file'));

/** One event of a generation stream. */
export const event = (name: string, data: unknown): string =>
	`event: ${name}\ndata: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
export const status = (said: unknown): string =>
	event('video_generation_status', JSON.stringify(said));
