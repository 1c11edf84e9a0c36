import type { TaskRecord } from './types.mts';
import type { World } from './world.mts';

/** Calls the address given with a task that has ended (§6.3); unsigned, tried once. */
export function sendCallback(world: World, task: TaskRecord): void {
	if (!task.callBackUrl) return;
	const body = {
		id: task.id,
		input: task.input,
		result: task.audioUrl ?? '',
		subtitle: task.subtitleUrl ?? '',
		error: task.error ?? '',
	};
	const call = fetch(task.callBackUrl, {
		method: 'POST',
		headers: { 'Content-Type': 'application/json' },
		body: JSON.stringify(body),
		signal: world.closing.signal,
	});
	// A callback nobody answers is lost, as with the service itself.
	call.then((response) => response.body?.cancel()).catch(() => {});
}
