import type {
	IConnections,
	ICredentialDataDecryptedObject,
	IDataObject,
	INode,
	INodeTypes,
	ITriggerResponse,
	WorkflowActivateMode,
} from 'n8n-workflow';
import { additionalDataFor } from '../../demo/engine.mts';
import { core, n8nWorkflow } from '../../demo/n8n.mts';
import { loadPackage, nodeTypesOf, type Loader } from '../../demo/package.mts';

type Context = ConstructorParameters<typeof core.TriggerContext>;

export interface TriggerWorkflow {
	workflowId: string;
	/** The trigger and the nodes after it, in order. */
	nodes: INode[];
	/** The tools of the last node, which is then an agent. */
	tools?: INode[];
	/** A second trigger and the nodes after it. */
	beside?: INode[];
	credential: ICredentialDataDecryptedObject;
	/** Why n8n activates the trigger. The default is `activate`: a person publishes the workflow. */
	activationMode?: WorkflowActivateMode;
	/** The static data that an earlier activation has saved. It is changed in place. */
	staticData?: IDataObject;
	/** Loads the package; by default the one in `dist`. */
	loader?: Loader;
}

/** Returns the trigger node of a workflow. It downloads no files by default. */
export const triggerNode = (parameters: IDataObject, id = 'trigger'): INode => ({
	id,
	name: 'Trigger',
	type: 'n8n-nodes-media-generation.mediaGenerationTrigger',
	typeVersion: 1,
	position: [0, 0],
	parameters: { download: false, ...parameters } as INode['parameters'],
	credentials: { mediaGenerationApi: { id: '1', name: 'mediaGenerationApi' } },
});

/** Returns the connections from each node to the next. */
export const inARow = (nodes: INode[]): IConnections =>
	Object.fromEntries(
		nodes
			.slice(1)
			.map(({ name }, index) => [
				nodes[index]!.name,
				{ main: [[{ node: name, type: 'main' as const, index: 0 }]] },
			]),
	);

/** Prepares what n8n passes to a trigger when it activates it. */
export async function prepareTrigger(
	{
		workflowId,
		nodes,
		tools = [],
		beside = [],
		credential,
		staticData = {},
		...more
	}: TriggerWorkflow,
	mode: 'trigger' | 'manual',
) {
	const loader = more.loader ?? (await loadPackage());
	const connections = { ...inARow(nodes), ...inARow(beside) };
	for (const { name } of tools) {
		connections[name] = { ai_tool: [[{ node: nodes.at(-1)!.name, type: 'ai_tool', index: 0 }]] };
	}
	const all = [...nodes, ...tools, ...beside];
	const file = { id: workflowId, name: 'Triggered', nodes: all, connections };
	const nodeTypes = withUnknown(nodeTypesOf(loader));
	const workflow = new n8nWorkflow.Workflow({ ...file, active: true, nodeTypes, staticData });
	const credentials = { mediaGenerationApi: credential };
	const data = additionalDataFor(file, mode, { credentials }, (name) => {
		return loader.getCredential(name).type;
	});
	return { workflow, node: nodes[0]!, data };
}

/** Hides all types of nodes that do not run here, so that a workflow may have nodes of any type. */
const withUnknown = (types: INodeTypes): INodeTypes => ({
	...types,
	getByNameAndVersion: (type, version) => {
		const isKnown = /mediaGeneration(?!Tool)|manualTrigger|\.set$/.test(type);
		return isKnown ? types.getByNameAndVersion(type, version) : (undefined as never);
	},
});

/** Activates a workflow, as n8n does when it is published. Throws the error that n8n would show. */
export async function activateTrigger(
	setting: TriggerWorkflow,
	emit: Context[5],
	fail: Context[6],
): Promise<ITriggerResponse> {
	const { workflow, node, data } = await prepareTrigger(setting, 'trigger');
	const { activationMode = 'activate' } = setting;
	const context = new core.TriggerContext(
		...([workflow, node, data, 'trigger', activationMode, emit, fail] as const),
	);
	const type = workflow.nodeTypes.getByNameAndVersion(node.type, 1);
	return (await type.trigger!.call(context)) as ITriggerResponse;
}
