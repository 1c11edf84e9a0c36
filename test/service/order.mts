import type { Simulator } from '../../simulator/simulator.mts';

/** Sends a create call without n8n. Resolves with the text of the response. */
export async function order(
	{ baseUrl, token }: Pick<Simulator, 'baseUrl' | 'token'>,
	path: string,
	body: object,
): Promise<string> {
	const response = await fetch(`${baseUrl}/v1/${path}`, {
		method: 'POST',
		headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
		body: JSON.stringify(body),
	});
	return await response.text();
}

/** Creates a speech task without n8n. Resolves with its id. */
export async function createTask(simulator: Simulator, text: string): Promise<string> {
	const body = { input: text, voice_id: simulator.voiceIds()[0], model_id: 'labs_v3' };
	return JSON.parse(await order(simulator, 'labs/task', body)).task_id;
}
