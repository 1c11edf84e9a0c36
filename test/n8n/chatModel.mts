import type { IncomingMessage } from 'node:http';
import { json as jsonOf } from 'node:stream/consumers';
import { importInto } from '../../tools/n8n/examples.mts';
import type { Instance } from '../../tools/n8n/instance.mts';
import { FakeService } from '../service/fakeService.mts';

/** n8n's credential for the model. */
export const MODEL = { id: 'scriptedModel', name: 'Scripted model' };

/** A message of OpenAI's chat completions, as far as it is used here. */
export interface ChatMessage {
	role: 'system' | 'user' | 'assistant' | 'tool';
	content: string | null;
	tool_call_id?: string;
	tool_calls?: Array<{ id: string; function: { name: string; arguments: string } }>;
}

/** What the model is asked. */
export interface ChatRequest {
	messages: ChatMessage[];
	stream?: boolean;
	tools?: Array<{
		function: { name: string; description: string; parameters: Record<string, unknown> };
	}>;
}

/** What the model says: a text, or the tools that it wants to be called. */
export type ChatAnswer = string | Array<{ tool: string; arguments: Record<string, unknown> }>;

/** A chat model that says what a test wrote down for it: OpenAI's chat completions on a free port. */
export async function startChatModel() {
	let requests: ChatRequest[] = [];
	let answers: Array<(request: ChatRequest) => ChatAnswer> = [];
	const service = await FakeService.start((request, response) => {
		const send = (status: number, type: string, answer: string) => {
			response.writeHead(status, { 'Content-Type': type });
			response.end(answer);
		};
		const json = (status: number, answer: object) =>
			send(status, 'application/json', JSON.stringify(answer));
		// Clients that know OpenAI's newer interface try it first.
		if (!request.url?.endsWith('/chat/completions')) {
			return json(404, { error: { message: `Unknown request URL: POST ${request.url}` } });
		}
		answerTo(request).then(
			({ answer, isStream }) =>
				isStream ? send(200, 'text/event-stream', streamed(answer)) : json(200, answer),
			({ message }: Error) => json(500, { error: { message } }),
		);
	});
	async function answerTo(request: IncomingMessage) {
		const asked = (await jsonOf(request)) as ChatRequest;
		const isStream = asked.stream === true;
		if (!asked.tools) return { answer: completion(model.words, 0), isStream };
		requests.push(asked);
		const say = answers.shift();
		if (!say) throw new Error('The script of this model has ended');
		return { answer: completion(say(asked), requests.length), isStream };
	}
	const model = {
		/** What it says to those who give it no tools: n8n's Agents ask so for a title. */
		words: 'A title',
		/** Everything that it was asked since the last script, in order. */
		get requests() {
			return requests;
		},
		/** What it says next, one answer per request; HTTP 500 after the last one, and when one throws. */
		script(...next: typeof answers) {
			requests = [];
			answers = next;
		},
		/** Puts the credential for it into an n8n. */
		async introduceTo(instance: Instance) {
			const data = { apiKey: 'none', url: `${service.url}/v1` };
			await importInto(instance, 'credentials', [{ ...MODEL, type: 'openAiApi', data }]);
		},
		close: async () => await service.stop(),
	};
	return model;
}

/** What the tools that the model called in its answer number `round` told it, in that order. */
export function toolResults({ messages }: ChatRequest, round: number): string[] {
	const results = messages.filter(({ tool_call_id: id }) => id?.startsWith(`call_${round}_`));
	results.sort((a, b) => a.tool_call_id!.localeCompare(b.tool_call_id!));
	return results.map(({ content }) => String(content));
}

type Completion = ReturnType<typeof completion>;

/** The same as a stream of one piece. */
function streamed({ choices, usage, ...rest }: Completion): string {
	const { message, finish_reason } = choices[0]!;
	const calls = message.tool_calls?.map((call, index) => ({ ...call, index }));
	const delta = { ...message, ...(calls ? { tool_calls: calls } : {}) };
	const pieces = [
		{ choices: [{ index: 0, delta, finish_reason: null }] },
		{ choices: [{ index: 0, delta: {}, finish_reason }] },
		{ choices: [], usage },
	];
	const events = pieces.map((piece) =>
		JSON.stringify({ ...rest, object: 'chat.completion.chunk', ...piece }),
	);
	return [...events, '[DONE]'].map((event) => `data: ${event}\n\n`).join('');
}

function completion(answer: ChatAnswer, round: number) {
	const isText = typeof answer === 'string';
	const message: ChatMessage = { role: 'assistant', content: isText ? answer : null };
	if (!isText) {
		message.tool_calls = answer.map(({ tool, arguments: given }, index) => ({
			id: `call_${round}_${index}`,
			type: 'function',
			function: { name: tool, arguments: JSON.stringify(given) },
		}));
	}
	return {
		id: `chatcmpl-${round}`,
		object: 'chat.completion',
		created: 1_700_000_000,
		model: 'scripted',
		choices: [{ index: 0, message, finish_reason: isText ? 'stop' : 'tool_calls' }],
		usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
	};
}
