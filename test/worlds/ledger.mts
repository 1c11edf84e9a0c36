import { createHash } from 'node:crypto';
import type { IDataObject } from 'n8n-workflow';

/** One item of an execution as n8n has it in the end, its files as the marks in their bytes. */
export interface Given {
	/** The text of the input item that it came from. */
	text: string;
	json: IDataObject;
	marks: string[];
}

/** What a person has asked n8n for. Options in seconds. */
export interface Asked {
	operation: string;
	items: string[];
	options: Record<string, number>;
	onError: string;
	tries: number;
}

/** What the service or n8n has seen happen. */
export type Fact =
	// The service's part.
	| { what: 'request'; n: number; method: string; host: string; path: string; text?: string }
	/** A request's token: where it may be ('header'), elsewhere, or none. */
	| { what: 'token'; n: number; where: 'header' | 'address' }
	/** Status 0: the connection was reset; -1: refused. */
	| { what: 'answer'; n: number; status: number }
	| { what: 'refusal'; n: number; why: string }
	| { what: 'charge'; n: number; id: string; text: string; amount: number; underWay: number }
	/** Whoever made it has been told its id or its files. */
	| { what: 'told'; id: string }
	| { what: 'made'; id: string; marks: string[] }
	| { what: 'failed'; id: string; isTold: boolean }
	| { what: 'served'; mark: string }
	| { what: 'heard'; id: string; percentage: number; process: string }
	| { what: 'socket'; process: string; isOpen: boolean }
	| { what: 'fault'; fault: string; ends: number }
	// n8n's part.
	| { what: 'begun'; execution: string; process: string; asked: Asked }
	| { what: 'attempt'; attempt: number; execution: string; texts: string[] }
	| { what: 'asked'; n: number; attempt?: number; process: string }
	| { what: 'ended'; execution: string; status: string; given: Given[]; error?: string }
	| { what: 'said'; execution?: string; process: string; text: string }
	| { what: 'stopped'; execution: string }
	| { what: 'published'; trigger: string; process: string; events: string[]; refused?: string }
	| { what: 'unpublished'; trigger: string }
	| { what: 'started'; trigger: string; key: string; isNew: boolean; given: Given }
	| { what: 'saved'; trigger: string; text: string }
	| { what: 'dead'; trigger: string; text: string }
	| { what: 'killed' | 'restarted'; process: string }
	/** What was open when everything had ended. */
	| { what: 'left'; timers: number; requests: number; sockets: number };

export type Line = Fact & { at: number };
/** The lines of one kind. */
export type Of<What extends Fact['what']> = Extract<Fact, { what: What }> & { at: number };

/** All that happened in one world, in order. */
export class Ledger {
	readonly lines: Line[] = [];

	private readonly now: () => number;

	constructor(now: () => number) {
		this.now = now;
	}

	note(fact: Fact): void {
		this.lines.push({ at: Math.round(this.now()), ...fact });
	}

	digest(): string {
		const text = this.lines.map((line) => JSON.stringify(line)).join('\n');
		return createHash('sha256').update(text).digest('hex').slice(0, 16);
	}
}
