import { accountOf } from '../account';
import { steadyNow } from '../async/deadline';
import type { Credential } from '../http/credential';
import { dropOldest } from '../limits';

/** How many tasks of an account are remembered: far more than any service keeps reporting. */
const MAX_TASKS = 50_000;

interface Known {
	/** Whether a message of it has come. */
	heard: boolean;
	/** When it was first known to have ended, by `steadyNow`. */
	endedAt: number | undefined;
}

/**
 * What this process has heard of an account's speech tasks. It outlives the socket, and tells news
 * from messages that the service repeats.
 */
export class KnownTasks {
	/** The most recently heard of last. */
	private readonly tasks = new Map<string, Known>();

	/** Notes a message. False when it only repeats one of a task that has ended. */
	hear(taskId: string, percentage: number | undefined): boolean {
		const known = this.tasks.get(taskId);
		const endedAt = known?.endedAt ?? (percentage === 100 ? steadyNow() : undefined);
		this.keep(taskId, { heard: true, endedAt });
		return !known?.heard || known.endedAt === undefined;
	}

	/** Notes that a reading has found the end of a task. */
	end(taskId: string): void {
		const known = this.tasks.get(taskId);
		const endedAt = known?.endedAt ?? steadyNow();
		this.keep(taskId, { heard: known?.heard ?? false, endedAt });
	}

	/** When a task was first known to have ended, by `steadyNow`; undefined when it is not. */
	endedAt(taskId: string): number | undefined {
		return this.tasks.get(taskId)?.endedAt;
	}

	private keep(taskId: string, known: Known): void {
		this.tasks.delete(taskId);
		this.tasks.set(taskId, known);
		dropOldest(this.tasks, MAX_TASKS);
	}
}

/** What is known of the tasks of an account in this process. */
export const knownTasksOf = (credential: Credential): KnownTasks =>
	accountOf(credential).shared(KnownTasks);
