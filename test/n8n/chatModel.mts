import type { ServerResponse } from 'node:http';
import { json as jsonOf } from 'node:stream/consumers';
import type { IDataObject } from 'n8n-workflow';
import { importInto } from '../../tools/n8n/examples.mts';
import type { Instance } from '../../tools/n8n/instance.mts';
import { FakeService } from '../service/fakeService.mts';

/** n8n's credential for the model. */
export const MODEL = { id: 'scriptedModel', name: 'Scripted model' };

/** What the model is asked, as far as it is used here: OpenAI's chat completions. */
export interface ChatRequest {
	messages: Array<{ content: string | null; tool_call_id?: string }>;
	stream?: boolean;
	tools?: Array<{
		function: { name: string; description: string; parameters: Record<string, unknown> };
	}>;
}

/** What the model says: a text, or the tools that it wants to be called. */
type ChatAnswer = string | Array<{ tool: string; given: IDataObject }>;

/** A chat model that says what a test wrote down for it: OpenAI's chat completions on a free port. */
export async function startChatModel() {
	let answers: Array<(request: ChatRequest) => ChatAnswer> = [];
	const service = await FakeService.start(async (request, response) => {
		const refuse = (status: number, message: string) =>
			response.writeHead(status).end(JSON.stringify({ error: { message } }));
		response.setHeader('Content-Type', 'application/json');
		// Clients that know OpenAI's newer interface try it first.
		if (!request.url?.endsWith('/chat/completions')) return refuse(404, 'Unknown request URL');
		const chatRequest = (await jsonOf(request)) as ChatRequest;
		try {
			answer(response, chatRequest, chatRequest.tools ? next(chatRequest) : model.words);
		} catch (error) {
			refuse(500, String(error));
		}
	});
	function next(chatRequest: ChatRequest): ChatAnswer {
		model.requests.push(chatRequest);
		const say = answers.shift();
		if (!say) throw new Error('The script of this model has ended');
		return say(chatRequest);
	}
	function answer(response: ServerResponse, { stream }: ChatRequest, said: ChatAnswer): void {
		const [message, finish_reason] =
			typeof said === 'string'
				? [{ role: 'assistant', content: said }, 'stop']
				: [{ role: 'assistant', content: null, tool_calls: said.map(toCall) }, 'tool_calls'];
		const body = JSON.stringify({
			...{ id: 'chatcmpl', created: 1_700_000_000, model: 'scripted' },
			object: stream ? 'chat.completion.chunk' : 'chat.completion',
			choices: [{ index: 0, finish_reason, [stream ? 'delta' : 'message']: message }],
			usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
		});
		if (stream) response.setHeader('Content-Type', 'text/event-stream');
		response.end(stream ? `data: ${body}\n\ndata: [DONE]\n\n` : body);
	}
	const toCall = ({ tool, given }: { tool: string; given: IDataObject }, index: number) => ({
		id: `call_${model.requests.length}_${index}`,
		index,
		type: 'function',
		function: { name: tool, arguments: JSON.stringify(given) },
	});
	const model = {
		/** What it says to those who give it no tools: n8n's Agents ask so for a title. */
		words: 'A title',
		/** Everything that it was asked since the last script, in order. */
		requests: [] as ChatRequest[],
		/** What it says next, one answer per request; HTTP 500 after the last one, and when one throws. */
		script(...next: typeof answers) {
			model.requests = [];
			answers = next;
		},
		/** What the tools that it called in its answer number `round` told it, in that order. */
		toolResults(round: number): string[] {
			const { messages } = model.requests.at(-1)!;
			const results = messages.filter(({ tool_call_id: id }) => id?.startsWith(`call_${round}_`));
			results.sort((a, b) => a.tool_call_id!.localeCompare(b.tool_call_id!));
			return results.map(({ content }) => String(content));
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
