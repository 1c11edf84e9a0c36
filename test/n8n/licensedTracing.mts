/*
 * Traces a past execution as an n8n with an Enterprise licence does: with n8n's own handler, tracer
 * and exporter, which only here take it that there is one. In a process of its own, since they are
 * the process's. Its arguments: where to send the spans, and the file with the execution.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { INode, IRunData } from 'n8n-workflow';

/** An execution that has ended, as far as it is traced. */
export interface PastExecution {
	executionId: string;
	workflow: { id: string; name: string; nodes: INode[] };
	runData: IRunData;
}

const [exporterEndpoint, file] = process.argv.slice(2) as [string, string];
const { executionId, workflow, runData }: PastExecution = JSON.parse(readFileSync(file, 'utf8'));

const n8n = createRequire(
	new URL('../../tools/n8n/node_modules/n8n/package.json', import.meta.url),
);
n8n('reflect-metadata');
const { OtelService } = n8n('./dist/modules/otel/otel.service.js');
const { ExecutionLevelTracer } = n8n('./dist/modules/otel/execution-level-tracer.js');
const { OtelLifecycleHandler } = n8n('./dist/modules/otel/otel-lifecycle-handler.js');

const settings = {
	enabled: true,
	exporterProtocol: 'http/protobuf',
	exporterEndpoint,
	exporterTracingPath: '/v1/traces',
	exporterHeaders: '',
	exporterServiceName: 'n8n',
	tracesSampleRate: 1,
	includeNodeSpans: true,
};
const settingsService = { loadSettings: () => settings, getSettings: () => settings };
const contexts = { get: () => undefined, persist: () => undefined };
const owners = { getWorkflowProjectCached: async () => undefined };
const licence = { isOtelCustomSpanAttributesLicensed: () => true };
const instance = { instanceId: 'licensed', instanceType: 'main' };
// Only asked whether the receiver can be reached.
const http = { transport: () => ({ asCustomFetch: () => fetch }) };

const service = new OtelService(settingsService, instance, console, http);
await service.init();
const tracer = new ExecutionLevelTracer(settingsService, console);
const handler = new OtelLifecycleHandler(
	tracer,
	contexts,
	service,
	settingsService,
	owners,
	console,
	licence,
);
const context = { executionId, workflow, mode: 'webhook' };
await handler.onWorkflowStart({ ...context, type: 'workflowExecuteBefore' });
for (const [nodeName, [taskData]] of Object.entries(runData)) {
	const executionData = { resultData: { runData } };
	const node = { ...context, nodeName, taskData, executionData };
	handler.onNodeStart({ ...node, type: 'nodeExecuteBefore' });
	handler.onNodeEnd({ ...node, type: 'nodeExecuteAfter' });
}
const ended = { status: 'success', mode: 'webhook', data: { resultData: {} } };
handler.onWorkflowEnd({ ...context, type: 'workflowExecuteAfter', runData: ended });
await service.shutdown();
