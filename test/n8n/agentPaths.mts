/* The ways in which a model can call this package's tools in n8n. */
import { randomUUID } from 'node:crypto';
import type { IDataObject, IConnections, INode } from 'n8n-workflow';
import { CREDENTIAL } from '../../tools/examples.mts';
import { execute } from '../../tools/n8n/executions.mts';
import type { Rest } from '../../tools/n8n/rest.mts';
import { MODEL } from './chatModel.mts';
import { RemoteWorkflow } from './workflows.mts';

const START = 'Start';

/** The tools that the model is offered: names, and the parameters of their nodes. */
export type Tools = Record<string, IDataObject>;

/** Lets the model answer until it calls no more tools; rejects when n8n ends the conversation. */
export type Converse = (rest: Rest, tools: Tools) => Promise<void>;

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
		const server = node('MCP', '@n8n/n8n-nodes-langchain.mcpTrigger', serverVersion, { path });
		const workflow = workflowOf('Tools', [{ ...server, webhookId: path }], toolNodes(tools));
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
	const remote = await RemoteWorkflow.create(rest, workflow);
	await remote.publish();
	const endpointUrl = `${rest.baseUrl}/mcp/${path}${serverTransport === 'sse' ? '/sse' : ''}`;
	const client = node('Client', '@n8n/n8n-nodes-langchain.mcpClientTool', 1.2, {
		...{ endpointUrl, serverTransport, authentication: 'none' },
	});
	await runAgent(rest, 2.2, [client]);
	await remote.unpublish();
}

async function runAgent(rest: Rest, version: number, tools: INode[]): Promise<void> {
	const start = node(START, 'n8n-nodes-base.manualTrigger', 1, {});
	const agent = node('Agent', '@n8n/n8n-nodes-langchain.agent', version, {
		...(version < 2 ? { agent: 'toolsAgent' } : {}),
		promptType: 'define',
		text: 'Begin.',
	});
	const model = {
		...node('Model', '@n8n/n8n-nodes-langchain.lmChatOpenAi', 1.2, {
			model: { __rl: true, mode: 'id', value: 'scripted' },
			options: { maxRetries: 0 },
		}),
		credentials: { openAiApi: MODEL },
	};
	const workflow = workflowOf('Agent', [agent, start, model], tools);
	await execute(rest, (await RemoteWorkflow.create(rest, workflow)).id, START);
}

/** The first of the nodes gets the tools, the second starts it, the third is its model. */
function workflowOf(name: string, [first, start, model]: INode[], tools: INode[]) {
	const to = (type: 'main' | 'ai_tool' | 'ai_languageModel') => ({
		[type]: [[{ node: first!.name, type, index: 0 }]],
	});
	const connections: IConnections = {
		...(start ? { [start.name]: to('main') } : {}),
		...(model ? { [model.name]: to('ai_languageModel') } : {}),
		...Object.fromEntries(tools.map((tool) => [tool.name, to('ai_tool')])),
	};
	const nodes = [first, start, model, ...tools].filter((one) => one !== undefined);
	return { name, nodes, connections, settings: { executionOrder: 'v1' } };
}

const toolNodes = (tools: Tools): INode[] =>
	Object.entries(tools).map(([name, parameters]) => ({
		...node(name, 'n8n-nodes-media-generation.mediaGenerationTool', 1, parameters),
		credentials: { mediaGenerationApi: CREDENTIAL },
	}));

const node = (name: string, type: string, typeVersion: number, parameters: IDataObject): INode => ({
	id: randomUUID(),
	name,
	type,
	typeVersion,
	position: [0, 0],
	parameters: parameters as INode['parameters'],
});

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
	const events = Array.from(said.matchAll(/^data: (.*)$/gm), ([, data]) => JSON.parse(data!));
	const last = events.at(-1);
	if (last?.type !== 'done') throw new Error(said);
}
