import type { Account } from './account.mts';
import { Contender } from './contender.mts';
import type { N8n } from './n8n.mts';
import type { Lines, Step } from './workflow.mts';

/** The seconds between two reads of a task. Most hand-built workflows wait longer. */
const WAIT_SECONDS = 5;

/** The workflow that users build from n8n's own nodes if a service has no node. */
export async function handBuilt(n8n: N8n, account: Account): Promise<Contender> {
	const { token, baseUrl, voiceId } = account;
	const credential = await n8n.credential('httpBearerAuth', { token });
	const http = (name: string, parameters: object): Step => ({
		name,
		type: 'n8n-nodes-base.httpRequest',
		typeVersion: 4.3,
		parameters: parameters as never,
	});
	const call = (name: string, parameters: object): Step => ({
		...http(name, {
			authentication: 'genericCredentialType',
			genericAuthType: 'httpBearerAuth',
			...parameters,
		}),
		credentials: { httpBearerAuth: credential },
	});
	const create = (path: string, fields: Record<string, string>) =>
		call('Create', {
			method: 'POST',
			url: baseUrl + path,
			sendBody: true,
			bodyParameters: {
				parameters: Object.entries(fields).map(([name, value]) => ({ name, value })),
			},
		});
	const download = (url: string) =>
		http('Download', {
			url,
			options: { response: { response: { responseFormat: 'file' } } },
		});

	const speech: Step[] = [
		create('/v1/labs/task', {
			input: '={{ $json.text }}',
			voice_id: voiceId,
			model_id: 'labs_multilingual_v2',
		}),
		{
			name: 'Wait',
			type: 'n8n-nodes-base.wait',
			typeVersion: 1.1,
			parameters: { amount: WAIT_SECONDS },
		},
		call('Read', { url: `=${baseUrl}/v1/labs/task/{{ $json.task_id ?? $json.id }}` }),
		{
			name: 'If',
			type: 'n8n-nodes-base.if',
			typeVersion: 2.2,
			parameters: {
				conditions: {
					options: { caseSensitive: true, leftValue: '', typeValidation: 'strict', version: 2 },
					combinator: 'and',
					conditions: [
						{
							id: 'completed',
							leftValue: '={{ $json.status }}',
							rightValue: 'completed',
							operator: { type: 'string', operation: 'equals' },
						},
					],
				},
			},
		},
		download('={{ $json.audio_url }}'),
	];
	// The whole stream arrives as one text at its end. The URL is taken from its last event.
	const complete = String.raw`/event: video_generation_complete\ndata: (.*)/`;
	const video: Step[] = [
		create('/v1/video/text-to-video', { prompt: '={{ $json.text }}' }),
		download(`={{ JSON.parse($json.data.match(${complete})[1])[0].file_url }}`),
	];
	const loop: Lines = [
		['Items', 'Create'],
		['Create', 'Wait'],
		['Wait', 'Read'],
		['Read', 'If'],
		['If', 'Download', 0],
		['If', 'Wait', 1],
	];
	return await Contender.publish('hand-built workflow', n8n, account, { speech, video }, loop);
}
