/* The ways in which a model can call this package's tools in n8n. */
import { randomUUID } from 'node:crypto';
import type { IDataObject, INode } from 'n8n-workflow';
import { CREDENTIAL } from '../../tools/examples.mts';
import type { Rest } from '../../tools/n8n/rest.mts';
import { MODEL } from './chatModel.mts';
import { addWorkflow, node, workflowOf } from './workflows.mts';

const START = 'Start';
const langchain = (type: string, version: number, parameters: IDataObject, more = {}) =>
	node(type, `@n8n/n8n-nodes-langchain.${type}`, version, parameters, more);

/** The tools that the model is offered: names, and the parameters of their nodes. */
export type Tools = Record<string, IDataObject>;

/** Lets the model answer until it calls no more tools; rejects when n8n ends the conversation. */
export type Converse = (rest: Rest, tools: Tools) => Promise<unknown>;

export const paths: Record<string, Converse> = {
	'AI Agent 1': aiAgent(1.9),
	'AI Agent 2': aiAgent(2.2),
	'AI Agent 3': aiAgent(3),
	"n8n's Agents": agentsModule,
	'MCP over HTTP': mcp('httpStreamable', 2),
	'MCP over SSE': mcp('sse', 1),
};

function aiAgent(version: number): Converse {
	return async (rest, tools) => await runAgent(rest, version, toolNodes(tools));
}

/** The tools are offered by one workflow, and used by an agent in another. */
function mcp(transport: 'httpStreamable' | 'sse', serverVersion: number): Converse {
	return async (rest, tools) => {
		const path = randomUUID();
		const server = langchain('mcpTrigger', serverVersion, { path }, { webhookId: path });
		const workflow = workflowOf('Tools', [server], { ai_tool: toolNodes(tools) });
		await converseOverMcp(rest, workflow, path, transport);
	};
}

/** Publishes a workflow that serves tools at `path`, for as long as the model calls them. */
export async function converseOverMcp(
	rest: Rest,
	workflow: object,
	path: string,
	serverTransport: 'httpStreamable' | 'sse' = 'httpStreamable',
): Promise<void> {
	const remote = await addWorkflow(rest, workflow);
	await remote.publish();
	const endpointUrl = `${rest.baseUrl}/mcp/${path}${serverTransport === 'sse' ? '/sse' : ''}`;
	const parameters = { endpointUrl, serverTransport, authentication: 'none' };
	await runAgent(rest, 2.2, [langchain('mcpClientTool', 1.2, parameters)]);
	await remote.unpublish();
}

async function runAgent(rest: Rest, version: number, ai_tool: INode[]) {
	const start = node(START, 'n8n-nodes-base.manualTrigger', 1);
	const reported = { promptType: 'define', text: 'Begin.' };
	const agent = langchain(
		'agent',
		version,
		version < 2 ? { agent: 'toolsAgent', ...reported } : reported,
	);
	const scripted = { __rl: true, mode: 'id', value: 'scripted' };
	const parameters = { model: scripted, options: { maxRetries: 0 } };
	const model = langchain('lmChatOpenAi', 1.2, parameters, { credentials: { openAiApi: MODEL } });
	const workflow = workflowOf('Agent', [start, agent], { ai_tool, ai_languageModel: [model] });
	await (await addWorkflow(rest, workflow)).run(START);
}

function toolNodes(tools: Tools): INode[] {
	const type = 'n8n-nodes-media-generation.mediaGenerationTool';
	const credentials = { mediaGenerationApi: CREDENTIAL };
	return Object.entries(tools).map(([name, parameters]) =>
		node(name, type, 1, parameters, { credentials }),
	);
}

/** n8n's own agents, which need no workflow. */
async function agentsModule(rest: Rest, tools: Tools): Promise<void> {
	const { id: projectId } = await rest.request('GET', '/rest/projects/personal');
	const schema = {
		name: 'Agent',
		model: 'openai/scripted',
		credential: MODEL.id,
		instructions: 'Use the tools.',
		tools: toolNodes(tools).map(({ name, type, typeVersion, parameters, credentials }) => ({
			type: 'node',
			name,
			node: {
				nodeType: type,
				nodeTypeVersion: typeVersion,
				nodeParameters: parameters,
				credentials,
			},
		})),
		config: { toolCallConcurrency: 10 },
	};
	const agents = `/rest/projects/${projectId}/agents/v2`;
	const { id } = await rest.request('POST', agents, { name: 'Agent', schema });
	const said = await rest.text('POST', `${agents}/${id}/chat`, { message: 'Begin.' });
	const last = said.match(/^data: .*$/gm)?.at(-1) ?? '';
	if (!last.includes('"type":"done"')) throw new Error(said);
}
