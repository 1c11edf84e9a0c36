import type { INodeExecutionData, IRun } from 'n8n-workflow';
import { startWorkflow, type WorkflowFile } from '../../demo/engine.mts';
import { itemWith, NODE, node, workflow } from '../faults/workflow.mts';
import { inARow } from '../service/triggerNode.mts';
import { runAs } from './clock.mts';
import type { Given } from './ledger.mts';
import { type N8n, PACKAGE } from './n8n.mts';
import type { Stage } from './play.mts';
import { API, TOKEN } from './service.mts';
import type { Execution } from './world.mts';

export const credential = { apiToken: TOKEN, baseUrl: API, webSocketUrl: '' };

/** One execution in n8n, or what n8n has kept of it again. */
export interface Running {
	plan: Execution;
	name: string;
	process: N8n;
	retryOf?: IRun;
}

/** Runs it to its end, which it has only if its process lives so long. */
export async function execute(stage: Stage, running: Running): Promise<IRun> {
	const { plan, name, process, retryOf } = running;
	const { operation, items, options, onError, tries, stopAfter } = plan;
	const { note, clock, service } = stage;
	const asked = { operation, items, options, onError, tries };
	note({ what: 'begun', execution: name, process: process.name, asked });
	const say = (text: string) =>
		note({ what: 'said', execution: name, process: process.name, text });
	const input = items.map((text): INodeExecutionData => {
		const json = { text, id: operation === 'wait' ? service.taskOf(text) : '' };
		return /ingredients|frames/.test(operation) ? itemWith(json) : { json };
	});
	const started = runAs({ process }, () =>
		startWorkflow({
			workflow: workflowOf(plan, name),
			credentials: { mediaGenerationApi: credential },
			...{ loader: process.loader, input, mode: 'trigger', onMessage: say, retryOf },
		}),
	);
	const { finished, cancel } = await started!;
	if (stopAfter !== undefined && !retryOf) {
		clock.after(stopAfter, () => {
			if (stage.underWay.has(running)) note({ what: 'stopped', execution: name });
			cancel();
		});
	}
	const { run, error } = await finished;
	if (process.isDead) return await new Promise(() => {});
	const { [NODE]: own = [], Rounds: rounds = [] } = run.data.resultData.runData;
	for (const { message } of own.flatMap(({ hints }) => hints ?? [])) say(message);
	const given = own.flatMap(({ data, source }) => {
		const asked = rounds[source[0]?.previousNodeRun ?? 0]?.data?.main?.[0] ?? [];
		return (data?.main ?? []).flat().map((item) => {
			const { item: index } = item!.pairedItem as { item: number };
			return givenOf(item!, String(asked[index]?.json.text));
		});
	});
	const text = error && `${error.message} ${error.description ?? ''}`;
	note({ what: 'ended', execution: name, status: run.status, given, error: text });
	return run;
}

/** What n8n was given, its files as the marks in their bytes. */
export function givenOf({ json, binary = {} }: INodeExecutionData, text = ''): Given {
	const files = Object.values(binary).map(({ data }) =>
		Buffer.from(data, 'base64').toString('latin1'),
	);
	const marks = [...files.join().matchAll(/<(\w+-[\d-]+)>/g)].map(([, mark]) => mark!);
	return { text, json, marks: [...new Set(marks)], fields: Object.keys(binary) };
}

/** The node in a loop. */
export function workflowOf(plan: Partial<Execution>, name: string): WorkflowFile {
	const { operation = '', options, onError, tries = 1, rounds = 1, amount } = plan;
	const resource = { speak: 'speech', wait: 'speech', create: 'image' }[operation] ?? 'video';
	const prompt = '={{ $json.text }}';
	const parameters = {
		...{ resource, operation, download: true, numberOfVideos: amount },
		...{ text: prompt, prompt, taskId: '={{ $json.id }}', binaryPropertyName: 'data' },
		voiceId: { __rl: true, mode: 'id', value: 'v1' },
		options: { ...options, ...(operation === 'framesToVideo' && { prompt }) },
	};
	const retry = { retryOnFail: tries > 1, maxTries: tries, waitBetweenTries: 1000 };
	const action = node(parameters, { onError, ...retry });
	const loop = node(
		{ rounds },
		{ id: 'rounds', name: 'Rounds', type: `${PACKAGE}.rounds`, credentials: {} },
	);
	const { nodes, connections } = workflow(loop, action);
	const [back] = inARow([action, loop])[NODE]!.main!;
	// A retry is of the same workflow.
	const id = name.split(' ').slice(0, 2).join(' ');
	return { id, name, nodes, connections: { ...connections, [NODE]: { main: [back!, back!] } } };
}
