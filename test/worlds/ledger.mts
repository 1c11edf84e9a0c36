import type { IDataObject } from 'n8n-workflow';
import { clock } from './clock.mts';
import type { Execution } from './world.mts';

/** An item that n8n has: the text of its input item, the marks in its files, the fields that these are in. */
export type Given = { text: string; json: IDataObject; marks: string[]; fields: string[] };

/** What a person has asked n8n for. Options as the node has them, times in seconds. */
type Asked = Pick<Execution, 'operation' | 'items' | 'options' | 'onError' | 'tries'>;

/** What a trigger is to tell. */
type Wanted = { events: string[]; taskIds: string[]; download: boolean };

/** Who sent it, and where it bears the token. */
type Sent = { process: string; attempt?: number; token?: 'header' | 'address' };

/** What the service (first) and n8n have seen happen. */
interface Facts {
	request: Sent & { n: number; method: string; host: string; path: string; text?: string };
	/** Status 0: the connection was reset; -1: refused. */
	answer: { n: number; status: number };
	/** `n` is its request; undefined if it is somebody else's. */
	charge: { n?: number; id: string; text: string };
	/** Whoever made it has been told its id or its files. */
	told: { id: string };
	made: { id: string; marks: string[] };
	/** First where it happens, then again each time that somebody is told. */
	failed: { id: string; isTold: boolean };
	served: { file: string };
	heard: { id: string; percentage: number; process: string };
	/** Something goes wrong from now on until `ends`. */
	fault: { kind: string; as?: string | number; ms?: number; ends: number };
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
	/** What was open when everything had ended. */
	left: { timers: number; requests: number; sockets: number };
}

type Kind = keyof Facts;
export type Fact = { [What in Kind]: { what: What } & Facts[What] }[Kind];
/** Times in ms since the world began. */
export type Line = Fact & { at: number };
/** The lines of one kind. */
export type Of<What extends Kind> = { what: What; at: number } & Facts[What];

/** All that happens in the world that is played, in its order. */
export const ledger: Line[] = [];
export const note = (fact: Fact): void => void ledger.push({ at: Math.round(clock.now), ...fact });
