import { thisProcess } from '../../shared/account';
import { steadyNow } from '../../shared/async/deadline';
import { AFTERMATH_MS, StartedExecutions, type StartedExecution } from '../../shared/executions';
import { dropOldest } from '../../shared/limits';

/** How long one that waits for its task may be over when the task's end becomes known here, in ms. */
const SLACK_MS = 10_000;
/** How many tasks' possible parents are remembered. */
const MAX_TASKS = 5000;

/**
 * How many executions in a row led to a task, or a video or image, judged by time where nothing better is
 * known: an execution of this trigger may have created any that was first heard of while it ran.
 */
export class Chain {
	/** The executions that may have created a task, and when that was first heard of, by task. */
	private readonly seen = new Map<string, { at: number; parents: StartedExecution[] }>();

	/** A task is heard of, for the first time or again, at most `lateMs` after it was created. */
	see(name: string, lateMs = 0): void {
		if (this.seen.has(name)) return;
		const at = steadyNow();
		const parents = [...thisProcess.shared(StartedExecutions)].filter(
			({ chain, overAt }) => chain === this && overAt > at - AFTERMATH_MS - lateMs,
		);
		this.seen.set(name, { at, parents });
		dropOldest(this.seen, MAX_TASKS);
	}

	/** When a task was first heard of, in ms since 1970. */
	heardAt(name: string): number {
		return this.seen.get(name)?.at ?? steadyNow();
	}

	/**
	 * 0 for a task that no execution can have created. With `waits` an execution ends only after the task
	 * that it created, so one that has ended before did not.
	 */
	depthOf(name: string, waits: boolean): number {
		const { at, parents } = this.seen.get(name) ?? { at: 0, parents: [] };
		const earliest = Math.max(at, steadyNow() - SLACK_MS);
		const possible = parents.filter(({ overAt }) => !waits || overAt > earliest);
		return Math.max(0, ...possible.map(({ depth }) => depth + 1));
	}
}
