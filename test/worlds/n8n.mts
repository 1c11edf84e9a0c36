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
import { type Given, ledger, note } from './ledger.mts';
import { API, type Service, TOKEN } from './service.mts';
import type { Execution } from './world.mts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(import.meta.url);

/** The product as one script, so that each process can have its own copy of all it shares. */
const paths = globSync(['nodes/*/*.node.ts', 'credentials/*.ts'], { cwd: root });
const { outputFiles } = await build({
	...{ bundle: true, write: false, platform: 'node', format: 'cjs', external: ['n8n-workflow'] },
	stdin: { contents: paths.map((path) => `export * from './${path}';`).join(''), resolveDir: root },
});
const run = compileFunction(outputFiles![0]!.text, ['module', 'require']);

export type N8n = Process & { loader: Loader };

/** A process of n8n with the package in it, as new. */
export function startProcess(name: string): N8n {
	const module = { exports: {} as Record<string, new () => INodeType & ICredentialType> };
	const randomUUID = () => `${name}-${Math.random()}`;
	run(module, (id: string) => (/crypto$/.test(id) ? { ...crypto, randomUUID } : require(id)));
	const { MediaGeneration, MediaGenerationTrigger, MediaGenerationApi } = module.exports;
	const [action, credential] = [new MediaGeneration!(), new MediaGenerationApi!()];
	const execute = action.execute!;
	action.execute = async function () {
		const texts = this.getInputData().map(({ json }) => String(json.text));
		const attempt = ledger.filter(({ what }) => what === 'attempt').length + 1;
		note({ what: 'attempt', attempt, execution: String(this.getWorkflow().name), texts });
		return await runAs({ process: own, attempt }, () => execute.call(this))!;
	};
	const nodes = { mediaGeneration: action, mediaGenerationTrigger: new MediaGenerationTrigger!() };
	const loader: Loader = {
		packageName: 'n8n-nodes-media-generation',
		known: { nodes: {}, credentials: {} },
		getNode: (wanted) => ({ type: nodes[wanted as keyof typeof nodes] }),
		getCredential: () => ({ type: credential }),
	};
	const own = { name, isDead: false, loader };
	return own;
}

/** The id of the sub-workflow. */
export const CALLED = 'sub-workflow';

export const credential = { apiToken: TOKEN, baseUrl: API, webSocketUrl: '' };

/** One execution in n8n, or what n8n has kept of it again. */
export type Running = { plan: Execution; name: string; process: N8n; retryOf?: IRun };

/** Those that have begun, until they end or their process does. */
export const underWay = new Set<Running>();

/** Runs it to its end, which it has only if its process lives so long. */
export async function execute(service: Service, running: Running): Promise<IRun> {
	const { plan, name: execution, process, retryOf } = running;
	const { operation, items, options, onError, tries, stopAfter, calledBy, amount } = plan;
	const own = { execution, process: process.name };
	const asked = { operation, items, options, onError, tries, calledBy, amount };
	note({ what: 'begun', ...own, asked });
	const onMessage = (text: string) => note({ what: 'said', ...own, text });
	const input = items.map((text): INodeExecutionData => {
		const json = { text, id: operation === 'speech:wait' ? service.taskOf(text) : '' };
		return takesImages(operation) ? pictureOf(json) : { json };
	});
	const credentials = { mediaGenerationApi: credential };
	const [workflow, { loader }, mode] = [workflowOf(plan, execution), process, 'trigger'] as const;
	const setting = { workflow, credentials, loader, input, mode, onMessage, retryOf };
	const {
		finished,
		cancel,
		currentRun: soFar,
	} = await runAs({ process }, () => startWorkflow(setting))!;
	if (calledBy) soFar().data.parentExecution = { workflowId: calledBy, executionId: '1' };
	const stop = () => {
		if (underWay.has(running)) note({ what: 'stopped', execution });
		cancel();
	};
	if (stopAfter !== undefined && !retryOf) clock.after(stopAfter, stop);
	const { run, error } = await finished;
	if (process.isDead) return await new Promise(() => {});
	const { [NODE]: runs = [], [LOOP]: rounds = [] } = run.data.resultData.runData;
	for (const { message } of runs.flatMap(({ hints }) => hints ?? [])) onMessage(message);
	const given = runs.flatMap(({ data, source }) => {
		const asked = rounds[source[0]?.previousNodeRun ?? 0]?.data?.main?.[1] ?? [];
		return (data?.main ?? []).flat().map((item) => {
			const { item: index } = item!.pairedItem as { item: number };
			return givenOf(item!, String(asked[index]?.json.text));
		});
	});
	const text = error && `${error.message} ${error.description ?? ''}`;
	note({ what: 'ended', execution, status: run.status, given, error: text });
	return run;
}

/** An item with a picture in which its text stands. */
function pictureOf(json: { text: string }): INodeExecutionData {
	const item = itemWith(json);
	const { data } = item.binary!;
	const bytes = [Buffer.from(data!.data, 'base64'), Buffer.from(`|${json.text}|`)];
	data!.data = Buffer.concat(bytes).toString('base64');
	return item;
}

/** What n8n was given, its files as the marks in their bytes. */
export function givenOf({ json, binary = {} }: INodeExecutionData, text = ''): Given {
	const files = Object.values(binary).map(({ data }) => Buffer.from(data, 'base64').toString());
	const marks = files.join().match(/(?<=<)\w+-[\d-]+(?=>)/g);
	return { text, json, marks: [...new Set(marks)], fields: Object.keys(binary) };
}

/** The node in a loop; a retry is of the same workflow. */
function workflowOf(plan: Partial<Execution>, name: string): WorkflowFile {
	const { operation = '', options, onError, tries = 1, rounds = 1, amount, items = [] } = plan;
	const { prompt = '={{ $json.text }}' } = plan;
	const own = { taskId: '={{ $json.id }}', voice: 'v1', options };
	const parameters = parametersFor(operation, prompt, own);
	const retry = { retryOnFail: tries > 1, maxTries: tries, waitBetweenTries: 1000 };
	const action = node({ ...parameters, numberOfVideos: amount }, { onError, ...retry });
	const id = plan.calledBy ? CALLED : name.split(' ').slice(0, 2).join(' ');
	return { ...workflowInLoop(action, Math.ceil(items.length / rounds)), id, name };
}
