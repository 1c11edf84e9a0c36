import type { INodeExecutionData, IRun } from 'n8n-workflow';
import { startWorkflow, type WorkflowFile } from '../../demo/engine.mts';
import { itemWith, LOOP, NODE, node, parametersFor, workflowInLoop } from '../faults/workflow.mts';
import { clock, runAs } from './clock.mts';
import { type Given, note } from './ledger.mts';
import type { N8n } from './n8n.mts';
import { API, type Service, TOKEN } from './service.mts';
import type { Execution } from './world.mts';

export const credential = { apiToken: TOKEN, baseUrl: API, webSocketUrl: '' };

/** One execution in n8n, or what n8n has kept of it again. */
export type Running = { plan: Execution; name: string; process: N8n; retryOf?: IRun };

/** Those that have begun, until they end or their process does. */
export const underWay = new Set<Running>();

/** Runs it to its end, which it has only if its process lives so long. */
export async function execute(service: Service, running: Running): Promise<IRun> {
	const { plan, name: execution, process, retryOf } = running;
	const { operation, items, options, onError, tries, stopAfter } = plan;
	const own = { execution, process: process.name };
	note({ what: 'begun', ...own, asked: { operation, items, options, onError, tries } });
	const onMessage = (text: string) => note({ what: 'said', ...own, text });
	const input = items.map((text): INodeExecutionData => {
		const json = { text, id: operation === 'wait' ? service.taskOf(text) : '' };
		return /ingredients|frames/.test(operation) ? itemWith(json) : { json };
	});
	const credentials = { mediaGenerationApi: credential };
	const workflow = workflowOf(plan, execution);
	const { loader } = process;
	const started = runAs({ process }, () =>
		startWorkflow({ workflow, credentials, loader, input, mode: 'trigger', onMessage, retryOf }),
	);
	const { finished, cancel } = await started!;
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

/** What n8n was given, its files as the marks in their bytes. */
export function givenOf({ json, binary = {} }: INodeExecutionData, text = ''): Given {
	const files = Object.values(binary).map(({ data }) => Buffer.from(data, 'base64').toString());
	const marks = files.join().match(/(?<=<)\w+-[\d-]+(?=>)/g);
	return { text, json, marks: [...new Set(marks)], fields: Object.keys(binary) };
}

/** The node in a loop; a retry is of the same workflow. */
export function workflowOf(plan: Partial<Execution>, name: string): WorkflowFile {
	const { operation = '', options, onError, tries = 1, rounds = 1, amount, items = [] } = plan;
	const resource = { speak: 'speech', wait: 'speech', create: 'image' }[operation] ?? 'video';
	const own = { taskId: '={{ $json.id }}', voice: 'v1', options };
	const parameters = parametersFor(`${resource}:${operation}`, '={{ $json.text }}', own);
	const retry = { retryOnFail: tries > 1, maxTries: tries, waitBetweenTries: 1000 };
	const action = node({ ...parameters, numberOfVideos: amount }, { onError, ...retry });
	const id = name.split(' ').slice(0, 2).join(' ');
	return { ...workflowInLoop(action, Math.ceil(items.length / rounds)), id, name };
}
