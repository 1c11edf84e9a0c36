import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { eventually } from '../../tools/eventually.mts';
import { importInto } from '../../tools/n8n/examples.mts';
import { activate, runByWebhook, waitForEnd, type Execution } from '../../tools/n8n/executions.mts';
import { itemsOf } from '../../tools/n8n/results.mts';
import { findToken } from '../faults/canary.mts';
import { WorkflowFile } from '../queue/setting.mts';
import type { PastExecution } from './licensedTracing.mts';
import { startReceiver, type Span } from './otlp.mts';
import { example, setUp } from './setting.mts';

/* What n8n's tracing (OpenTelemetry) tells an operator of executions in production. */

const NODE = example('speak-list').nodeName;
const GOES_ON = 'goes-on';
const STOPS = 'stops';

const receiver = await startReceiver();
const { instance, simulator, rest, start, close } = await setUp(
	{},
	{
		N8N_OTEL_ENABLED: 'true',
		N8N_OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
		// In ms: OpenTelemetry's own is 5 s.
		OTEL_BSP_SCHEDULE_DELAY: '200',
	},
);
after(async () => {
	await close();
	await receiver.close();
});

describe("n8n's tracing", { timeout: 240_000 }, () => {
	/** One of two items fails, and the other goes on. */
	let mixed: Execution;
	/** Its only item fails, and the service says the token in why. */
	let failed: Execution;
	/** The spans of the node in these two. */
	let mixedSpan: Span;
	let failedSpan: Span;

	before(async () => {
		const workflows = [
			[GOES_ON, 'continueErrorOutput'],
			[STOPS, 'stopWorkflow'],
		].map(([id, onError]) => {
			const file = new WorkflowFile('speak-list', id!).withLinesOfTheCall();
			Object.assign(file.node(NODE), { onError });
			return file.content;
		});
		await importInto(instance, 'workflow', workflows);
		await start();
		for (const { id } of workflows) await activate(rest, id);
		mixed = await run(GOES_ON, ['One.', '[sim:task-fails-late] Two.']);
		const error = `No entry at ${simulator.webSocketUrl}/ws?token=${simulator.token}`;
		const respond = { status: 200, body: { status: 'error', error } };
		simulator.fault({ method: 'GET', path: '/v1/labs/task/', action: { respond } });
		failed = await run(STOPS, ['Three.']);
		[mixedSpan, failedSpan] = await eventually('the spans', 30_000, () => {
			const ofNode = ({ attributes }: Span) => attributes['n8n.node.name'] === NODE;
			const [first, second] = receiver.spans().filter(ofNode);
			return first && second && [first, second];
		});
	});

	const run = async (workflowId: string, lines: string[]) =>
		await waitForEnd(rest, await runByWebhook(rest, workflowId, { lines }));

	it('gets a span of the node, with its type and how many items went in and out', () => {
		assert.equal(mixed.status, 'success');
		const { name, attributes, status } = mixedSpan;
		assert.equal(name, 'node.execute');
		assert.equal(status, 'OK');
		assert.equal(attributes['n8n.node.type'], 'n8n-nodes-media-generation.mediaGeneration');
		assert.equal(attributes['n8n.node.items.input'], 2);
		assert.equal(attributes['n8n.node.items.output'], 2);
	});

	it('gets the message of a failed node, which names the task', () => {
		assert.equal(failed.status, 'error');
		const { attributes, events, status } = failedSpan;
		assert.equal(status, 'ERROR');
		assert.equal(attributes['n8n.node.items.output'], 0);
		const [task] = [...simulator.tasks.values()].slice(-1);
		const message = String(events[0]?.attributes['exception.message']);
		assert.match(message, /^The service could not generate the speech: No entry at /);
		assert.ok(message.includes(`task ${task!.id}`), message);
	});

	it('is sent neither the token nor the address of the WebSocket with it', () => {
		const received = Buffer.concat(receiver.bodies).toString('latin1');
		assert.match(received, /No entry at/);
		assert.equal(findToken(simulator.token, { received }), undefined);
	});

	it('puts a header on downloads, which come all the same', () => {
		const downloads = simulator.requests.filter(({ on }) => on === 'file');
		assert.equal(downloads.length, 1);
		assert.match(String(downloads[0]?.headers.traceparent), /^00-/);
		const [item] = itemsOf(mixed, NODE);
		assert.equal(item?.binary?.data?.fileName, `speech-${item?.json.task_id}.wav`);
	});

	/** What the node says of a run, as it is kept with the execution. */
	const factsOf = ({ data }: Execution): Record<string, unknown> =>
		data.resultData.runData[NODE]?.[0]?.metadata?.tracing ?? {};

	it('has what was paid, failed, waited and loaded kept with the execution', () => {
		const [item] = itemsOf(mixed, NODE);
		const bytes = simulator.fileBytes(String(item?.json.audio_url))?.length;
		const { 'media.waited_ms': waited, ...facts } = factsOf(mixed);
		assert.deepEqual(facts, { 'media.paid': 2, 'media.failed': 1, 'media.bytes': bytes });
		assert.ok(Number(waited) > 0, `waited ${waited} ms`);
		const { 'media.waited_ms': _, ...others } = factsOf(failed);
		assert.deepEqual(others, { 'media.paid': 1, 'media.failed': 1, 'media.bytes': 0 });
	});

	it('exports these with an Enterprise licence only', async () => {
		const custom = ({ attributes }: Span) =>
			Object.entries(attributes).filter(([key]) => key.startsWith('n8n.node.custom.'));
		assert.deepEqual(receiver.spans().flatMap(custom), []);
		const workflow = await rest.request('GET', `/rest/workflows/${GOES_ON}`);
		const { runData } = mixed.data.resultData;
		const past: PastExecution = { executionId: mixed.id, workflow, runData };
		const file = join(instance.folder, 'past.json');
		writeFileSync(file, JSON.stringify(past));
		const script = fileURLToPath(new URL('licensedTracing.mts', import.meta.url));
		const env = { ...process.env, N8N_USER_FOLDER: instance.folder };
		await promisify(execFile)(process.execPath, [script, receiver.endpoint, file], { env });
		const facts = Object.entries(factsOf(mixed));
		assert.equal(facts.length, 4);
		assert.deepEqual(
			receiver.spans().flatMap(custom).sort(),
			facts.map(([key, value]) => [`n8n.node.custom.${key}`, String(value)]).sort(),
		);
	});
});
