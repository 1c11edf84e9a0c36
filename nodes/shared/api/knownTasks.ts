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
	endedAt?: number;
}

/**
 * What this process has heard of an account's speech tasks. It outlives the socket, and tells news
 * from messages that the service repeats.
 */
export class KnownTasks {
	private readonly tasks = new Map<string, Known>();

	/** Notes a message. False when it only repeats one of a task that has ended. */
	hear(taskId: string, percentage: number | undefined): boolean {
		const known = this.note(taskId);
		const isRepeat = known.heard && known.endedAt !== undefined;
		known.heard = true;
		if (percentage === 100) known.endedAt ??= steadyNow();
		return !isRepeat;
	}

	/** Notes that a reading has found the end of a task. */
	end(taskId: string): void {
		this.note(taskId).endedAt ??= steadyNow();
	}

	/** When a task was first known to have ended, by `steadyNow`; undefined when it is not. */
	endedAt(taskId: string): number | undefined {
		return this.tasks.get(taskId)?.endedAt;
	}

	private note(taskId: string): Known {
		const known = this.tasks.get(taskId) ?? { heard: false };
		this.tasks.delete(taskId);
		this.tasks.set(taskId, known);
		dropOldest(this.tasks, MAX_TASKS);
		return known;
	}
}

/** What is known of the tasks of an account in this process. */
export const knownTasksOf = (credential: Credential): KnownTasks =>
	accountOf(credential).shared(KnownTasks);
