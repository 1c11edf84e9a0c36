import crypto from 'node:crypto';
import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { build } from 'esbuild';
import type { ICredentialType, INodeExecutionData, INodeType, IRun } from 'n8n-workflow';
import { startWorkflow, type WorkflowFile } from '../../demo/engine.mts';
import type { Loader } from '../../demo/package.mts';
import { itemWith, LOOP, NODE, node, parametersFor, workflowInLoop } from '../faults/workflow.mts';
import { takesImages } from '../service/operations.mts';
import { clock, type Process, runAs } from './clock.mts';
import { type OutputItem, recordedLines, record } from './trace.mts';
import { API, type Service, TOKEN } from './service.mts';
import type { Execution } from './world.mts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(import.meta.url);

/** The package as one script. Each process runs it anew, so that processes share no state. */
const paths = globSync(['nodes/*/*.node.ts', 'credentials/*.ts'], { cwd: root });
const { outputFiles } = await build({
	...{ bundle: true, write: false, platform: 'node', format: 'cjs', external: ['n8n-workflow'] },
	stdin: { contents: paths.map((path) => `export * from './${path}';`).join(''), resolveDir: root },
});
const run = compileFunction(outputFiles![0]!.text, ['module', 'require']);

export type N8n = Process & { loader: Loader };

/** Starts a process of n8n with its own copy of the package. */
export function startProcess(name: string): N8n {
	const module = { exports: {} as Record<string, new () => INodeType & ICredentialType> };
	const randomUUID = () => `${name}-${Math.random()}`;
	run(module, (id: string) => (/crypto$/.test(id) ? { ...crypto, randomUUID } : require(id)));
	const { MediaGeneration, MediaGenerationTrigger, MediaGenerationApi } = module.exports;
	const [action, credential] = [new MediaGeneration!(), new MediaGenerationApi!()];
	const execute = action.execute!;
	action.execute = async function () {
		const texts = this.getInputData().map(({ json }) => String(json.text));
		const attempt = recordedLines.filter(({ what }) => what === 'attempt').length + 1;
		record({ what: 'attempt', attempt, execution: String(this.getWorkflow().name), texts });
		return await runAs({ process, attempt }, () => execute.call(this))!;
	};
	const nodes = { mediaGeneration: action, mediaGenerationTrigger: new MediaGenerationTrigger!() };
	const loader: Loader = {
		packageName: 'n8n-nodes-media-generation',
		known: { nodes: {}, credentials: {} },
		getNode: (type) => ({ type: nodes[type as keyof typeof nodes] }),
		getCredential: () => ({ type: credential }),
	};
	const process = { name, isDead: false, loader };
	return process;
}

/** The id of the sub-workflow. */
export const CALLED = 'sub-workflow';

export const credential = { apiToken: TOKEN, baseUrl: API, webSocketUrl: '' };

/** An execution that runs in n8n. A retry goes on with `retryOf`, as n8n has saved it. */
export type Running = { plan: Execution; name: string; process: N8n; retryOf?: IRun };

/** The executions that have begun but not ended. Those of a killed process stay until `startAgain` removes them. */
export const runningExecutions = new Set<Running>();

/** Runs an execution to its end. Never settles if its process is killed before. */
export async function execute(service: Service, running: Running): Promise<IRun> {
	const { plan, name: execution, process, retryOf } = running;
	const { operation, items, options, onError, tries, stopAfter, calledBy, fileCount } = plan;
	const ids = { execution, process: process.name };
	const recordedPlan = { operation, items, options, onError, tries, calledBy, fileCount };
	record({ what: 'launched', ...ids, plan: recordedPlan });
	const onMessage = (text: string) => record({ what: 'shown', ...ids, text });
	const input = items.map((text): INodeExecutionData => {
		const json = { text, id: operation === 'speech:wait' ? service.taskIdOf(text) : '' };
		return takesImages(operation) ? withImage(json) : { json };
	});
	const credentials = { mediaGenerationApi: credential };
	const [workflow, { loader }, mode] = [workflowOf(plan, execution), process, 'trigger'] as const;
	const setting = { workflow, credentials, loader, input, mode, onMessage, retryOf };
	const { finished, cancel, currentRun } = await runAs({ process }, () => startWorkflow(setting))!;
	if (calledBy) currentRun().data.parentExecution = { workflowId: calledBy, executionId: '1' };
	const stop = () => {
		if (runningExecutions.has(running)) record({ what: 'stopped', execution });
		cancel();
	};
	if (stopAfter !== undefined && !retryOf) clock.after(stopAfter, stop);
	const { run, error } = await finished;
	if (process.isDead) return await new Promise(() => {});
	const { [NODE]: runs = [], [LOOP]: rounds = [] } = run.data.resultData.runData;
	for (const { message } of runs.flatMap(({ hints }) => hints ?? [])) onMessage(message);
	const outputs = runs.flatMap(({ data, source }) => {
		const inputItems = rounds[source[0]?.previousNodeRun ?? 0]?.data?.main?.[1] ?? [];
		return (data?.main ?? []).flat().map((item) => {
			const { item: index } = item!.pairedItem as { item: number };
			return outputOf(item!, String(inputItems[index]?.json.text));
		});
	});
	const text = error && `${error.message} ${error.description ?? ''}`;
	record({ what: 'ended', execution, status: run.status, outputs, error: text });
	return run;
}

/** Returns an item with an image. The text of the item is in the bytes of the image. */
function withImage(json: { text: string }): INodeExecutionData {
	const item = itemWith(json);
	const { data } = item.binary!;
	const bytes = [Buffer.from(data!.data, 'base64'), Buffer.from(`|${json.text}|`)];
	data!.data = Buffer.concat(bytes).toString('base64');
	return item;
}

/** Returns an output item as the trace has it. The ids of its files are in their bytes. */
export function outputOf({ json, binary = {} }: INodeExecutionData, text = ''): OutputItem {
	const files = Object.values(binary).map(({ data }) => Buffer.from(data, 'base64').toString());
	const fileIds = files.join().match(/(?<=<)\w+-[\d-]+(?=>)/g);
	return { text, json, fileIds: [...new Set(fileIds)], fields: Object.keys(binary) };
}

/** Returns a workflow with the node in a loop. An execution and its retries have the same workflow id. */
function workflowOf(plan: Partial<Execution>, name: string): WorkflowFile {
	const { operation = '', options, onError, tries = 1, rounds = 1, fileCount, items = [] } = plan;
	const { prompt = '={{ $json.text }}' } = plan;
	const inputs = { taskId: '={{ $json.id }}', voice: 'v1', options };
	const parameters = parametersFor(operation, prompt, inputs);
	const retry = { retryOnFail: tries > 1, maxTries: tries, waitBetweenTries: 1000 };
	const action = node({ ...parameters, numberOfVideos: fileCount }, { onError, ...retry });
	const id = plan.calledBy ? CALLED : name.split(' ').slice(0, 2).join(' ');
	return { ...workflowInLoop(action, Math.ceil(items.length / rounds)), id, name };
}
