import { createHash } from 'node:crypto';
import type { IDataObject, INode } from 'n8n-workflow';

/** One item of an execution as n8n has it in the end. */
export interface Given {
	/** The text of the input item that it came from. */
	text: string;
	json: IDataObject;
	/** The marks in the bytes of its files. */
	marks: string[];
	/** The fields that its files are in. */
	fields: string[];
}

/** What a person has asked n8n for. Options as the node has them, times in seconds. */
export interface Asked {
	operation: string;
	items: string[];
	options: Record<string, number | boolean>;
	onError: INode['onError'];
	tries: number;
}

/** What the service or n8n has seen happen. */
interface Facts {
	// The service's part.
	request: {
		n: number;
		method: string;
		host: string;
		path: string;
		text?: string;
		/** Where it bears the token. */
		token?: 'header' | 'address';
		process: string;
		attempt?: number;
	};
	/** Status 0: the connection was reset; -1: refused. */
	answer: { n: number; status: number };
	/** `n` is its request; undefined if it is somebody else's. */
	charge: { n?: number; id: string; text: string; amount: number; underWay: number };
	/** Whoever made it has been told its id or its files. */
	told: { id: string };
	made: { id: string; marks: string[] };
	/** First where it happens, then again each time that somebody is told. */
	failed: { id: string; isTold: boolean };
	served: { file: string };
	heard: { id: string; percentage: number; process: string };
	/** Something goes wrong from now on until `ends`. */
	fault: { kind: string; as?: string | number; ms?: number; ends: number };
	// n8n's part.
	begun: { execution: string; process: string; asked: Asked };
	attempt: { attempt: number; execution: string; texts: string[] };
	ended: { execution: string; status: string; given: Given[]; error?: string };
	said: { execution?: string; process: string; text: string };
	stopped: { execution: string };
	published: { trigger: string; process: string; wanted: Wanted; refused?: string };
	unpublished: { trigger: string };
	started: { trigger: string; key: string; isNew: boolean; given: Given };
	saved: { trigger: string; text: string };
	killed: { process: string };
	restarted: { process: string };
	/** What was open when everything had ended. */
	left: { timers: number; requests: number; sockets: number };
}

/** What a trigger is to tell. */
export interface Wanted {
	events: string[];
	taskIds: string[];
	download: boolean;
}

type Kind = keyof Facts;
export type Fact = { [What in Kind]: { what: What } & Facts[What] }[Kind];
/** Times in ms since the world began. */
export type Line = Fact & { at: number };
/** The lines of one kind. */
export type Of<What extends Kind> = { what: What; at: number } & Facts[What];

/** The same for the same ledger, all that happened in one world in its order. */
export const digestOf = (lines: Line[]): string =>
	createHash('sha256')
		.update(lines.map((line) => JSON.stringify(line)).join('\n'))
		.digest('hex')
		.slice(0, 16);
