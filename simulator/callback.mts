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
	const json = world.dialect.callbackBody === 'json';
	const call = fetch(task.callBackUrl, {
		method: 'POST',
		headers: {
			'Content-Type': json ? 'application/json' : 'application/x-www-form-urlencoded',
		},
		body: json ? JSON.stringify(body) : new URLSearchParams(body).toString(),
		signal: world.closing.signal,
	});
	// A callback nobody answers is lost, as with the service itself.
	call.then((response) => response.body?.cancel()).catch(() => {});
}
