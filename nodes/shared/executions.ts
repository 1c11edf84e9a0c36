/** How many executions of a family, for each of its second generation, may follow that generation. */
const MAX_DESCENDANTS = 10;
/** Families are never smaller than if this many were in the second generation. */
const MIN_GENERATION = 10;

/**
 * The executions that go back to the same event of a trigger: each later one was started by something
 * that an earlier one created.
 */
export class Family {
	/** Those started by what the first ones created: as many as the user asked for. */
	private second = 0;
	/** Those started by what others than the first ones created. */
	private later = 0;
	/** The user has been told that it is ended. */
	isEnded = false;

	/** One begins, to which `depth` others in a row led. */
	add(depth: number): void {
		if (depth === 1) this.second++;
		if (depth > 1) this.later++;
	}

	/** Whether one more of this depth is too many, as where each execution starts several. */
	isFull(depth: number): boolean {
		const most = MAX_DESCENDANTS * Math.max(MIN_GENERATION, this.second);
		return depth > 1 && this.later >= most;
	}
}

/** How long after an execution is over something of it may go on or first be heard of, in ms. */
export const AFTERMATH_MS = 60_000;

/** An execution that an event of a trigger has started. */
export interface StartedExecution {
	/** Tells its trigger from others. */
	chain: object;
	workflowId: string;
	/** Sub-workflows that nodes after the trigger call. */
	calls: string[];
	/** As of its event's task. */
	depth: number;
	family: Family;
	/** When it ended, in ms since 1970; Infinity before. */
	overAt: number;
}

/** Those of all triggers in this process, the oldest first. */
export class StartedExecutions extends Set<StartedExecution> {}
