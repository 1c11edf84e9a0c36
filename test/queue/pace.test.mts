import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse } from 'flatted';
import { CREDENTIAL } from '../../tools/examples.mts';
import { eventually } from '../../tools/eventually.mts';
import { postJson } from '../../tools/n8n/executions.mts';
import { itemsOf } from '../../tools/n8n/results.mts';
import { node, workflowOf } from '../n8n/workflows.mts';
import { setUp } from './setting.mts';

/*
 * Four workers share an account that allows only so much. The figures come from the service's own
 * record; docs/queue-mode.md has a table of them.
 */

const ROWS_EACH = 10;
/** How long the service works at a row. */
const TASK_MS = 4000;
/** How many times the possible it may take on a machine that has other work, too. */
const SLACK = 2;
const PATIENCE_MS = 500_000;
const POLL_MS = 1000;

/** An account for each limit: a worker remembers the last one that it met. */
const OTHER_TOKEN = 'sk-a-minute-5Tq8';

const setting = await setUp({ pace: 1, otherTokens: [OTHER_TOKEN] });
const { cluster, simulator, rest, start, close, add, addCredential } = setting;
after(close);

const ours = (name: string, parameters: object, credential = CREDENTIAL.id) => {
	const credentials = { mediaGenerationApi: { id: credential, name: 'Any' } };
	const type = 'n8n-nodes-media-generation.mediaGeneration';
	return node(name, type, 1, { ...parameters }, { credentials });
};
const splitOut = () => node('Each', 'n8n-nodes-base.splitOut', 1, { fieldToSplitOut: 'row' });
const makeImage = (credential: string) => {
	const parameters = { resource: 'image', operation: 'create', prompt: '={{ $json.prompt }}' };
	return ours('Make', parameters, credential);
};

/** Publishes a workflow that makes `rows`, an expression over the prompts of the webhook's body. */
async function onCall(
	path: string,
	rows: string,
	{ first = [] as ReturnType<typeof ours>[], credential = CREDENTIAL.id } = {},
) {
	const parameters = { httpMethod: 'POST', path, responseMode: 'onReceived' };
	const webhook = node('Called', 'n8n-nodes-base.webhook', 2, parameters, { webhookId: path });
	const value = `={{ (${rows}).map((prompt) => ({ prompt })) }}`;
	const assignments = { assignments: [{ id: 'row', name: 'row', type: 'array', value }] };
	const set = node('Rows', 'n8n-nodes-base.set', 3.4, { assignments }, { executeOnce: true });
	const workflow = await add(
		workflowOf(path, [webhook, ...first, set, splitOut(), makeImage(credential)]),
	);
	await workflow.publish();
	const call = async (prompts: string[]) =>
		await postJson(`${rest.baseUrl}/webhook/${path}`, { prompts });
	return { ...workflow, call };
}

const PROMPTS = `$('Called').first().json.body.prompts`;
const isOver = ({ status }: { status: string }) => !/^(new|running|waiting)$/.test(status);

describe('four workers with one account', { timeout: 900_000 }, () => {
	let make: Awaited<ReturnType<typeof onCall>>;
	let makeElsewhere: typeof make;
	/** Makes those of the prompts that the account's history does not have. */
	let makeMissing: typeof make;

	before(async () => {
		await start();
		await Promise.all([cluster.addWorker(), cluster.addWorker()]);
		make = await onCall('make', PROMPTS);
		const credential = await addCredential(OTHER_TOKEN);
		makeElsewhere = await onCall('make-elsewhere', PROMPTS, { credential });
		const history = ours('History', { resource: 'history', operation: 'getAll', returnAll: true });
		const missing = `((made) => ${PROMPTS}.filter((prompt) => !made.has(prompt)))(new Set($('History').all().map(({ json }) => json.prompt)))`;
		const first = [{ ...history, alwaysOutputData: true }];
		makeMissing = await onCall('make-missing', missing, { first });
	});

	/** Makes so many rows, `ROWS_EACH` per execution; resolves once all are over. */
	async function batch(about: string, count: number, by = make, meanwhile = async () => {}) {
		const prompts = Array.from(
			{ length: count },
			(_, row) => `[sim:slow=${TASK_MS / 1000}] ${about}, row ${row}.`,
		);
		const earlier = new Set((await by.list()).map(({ id }) => id));
		const requestsBefore = simulator.requests.length;
		const parts = Array.from({ length: count / ROWS_EACH }, (_, part) =>
			prompts.slice(part * ROWS_EACH, (part + 1) * ROWS_EACH),
		);
		for (const part of parts) await by.call(part);
		const [executions] = await Promise.all([ended(by, parts.length, earlier), meanwhile()]);
		const failed = executions.filter(({ status }) => status !== 'success');
		if (failed.length > 0) {
			await makeMissing.call(prompts);
			const [again] = await ended(makeMissing, 1, new Set());
			assert.equal(again!.status, 'success');
		}
		const creates = simulator.requests
			.slice(requestsBefore)
			.filter(({ path }) => path === '/v1/video/create-image');
		const accepted = creates.filter(({ status }) => status === 200);
		const times = accepted.map(({ arrivedAt }) => arrivedAt);
		const seconds = (Math.max(...times) + TASK_MS - Math.min(...times)) / 1000;
		const made = simulator.history.filter(({ prompt }) => prompts.includes(prompt));
		assert.deepEqual(
			made.map(({ prompt, status }) => `${prompt} ${status}`).sort(),
			prompts.map((prompt) => `${prompt} completed`).sort(),
			'each row was paid once, and is there',
		);
		const refusedShare = creates.filter(({ status }) => status === 429).length / creates.length;
		return { executions, failed, seconds, refusedShare };
	}

	const ended = async (workflow: typeof make, count: number, earlier: Set<string>) =>
		await eventually(
			`${count} executions to end`,
			PATIENCE_MS,
			async () => {
				const all = (await workflow.list()).filter(({ id }) => !earlier.has(id));
				return all.length === count && all.every(isOver) && all;
			},
			POLL_MS,
		);

	/** Says how near it came to what is possible, in seconds, and holds what is surely too slow. */
	function compare(what: string, seconds: number, possible: number, refused = 0) {
		const ratio = seconds / possible;
		const share = `${(100 * refused).toFixed(1)} % refused`;
		console.log(`${what}: ${seconds.toFixed(1)} s of ${possible} (${ratio.toFixed(2)}), ${share}`);
		assert.ok(ratio <= SLACK, `${what} takes ${ratio.toFixed(2)} times the possible`);
	}

	it('without a limit n8n itself is what takes its time', async () => {
		const outcome = await batch('Free', 2 * cluster.workers.length * ROWS_EACH);
		console.log(`No limit, two executions each: ${outcome.seconds.toFixed(1)} s`);
		assert.equal(outcome.failed.length, 0);
	});

	it('8 at once, 400 rows, a worker killed: none is lost, none paid twice', async () => {
		const [count, atOnce] = [400, 8];
		simulator.concurrencyLimit = atOnce;
		const creates = simulator.chargedCalls;
		const outcome = await batch('At once', count, make, async () => {
			await simulator.waitFor(() => simulator.chargedCalls - creates >= 0.3 * count, PATIENCE_MS);
			await cluster.workers[0]!.crash();
			await cluster.addWorker();
		}).finally(() => (simulator.concurrencyLimit = undefined));
		const possible = ((count / atOnce) * TASK_MS) / 1000;
		compare(`${atOnce} at once`, outcome.seconds, possible, outcome.refusedShare);
		assert.ok(outcome.failed.length <= 1, 'the killed worker had one execution');
		await assertOutput(outcome.executions);
	});

	it('60 a minute, 60 rows: none is lost, none paid twice', async () => {
		const count = 60;
		// A minute's 60, in windows that are short enough for a test.
		simulator.requestLimit = { requests: 5, seconds: 5 };
		const outcome = await batch('A minute', count, makeElsewhere).finally(
			() => (simulator.requestLimit = undefined),
		);
		compare('60 a minute', outcome.seconds, count, outcome.refusedShare);
		assert.equal(outcome.failed.length, 0);
		await assertOutput(outcome.executions);
	});

	/** Each execution that has succeeded put out all its rows. */
	async function assertOutput(executions: Array<{ id: string; status: string }>) {
		for (const { id } of executions.filter(({ status }) => status === 'success')) {
			const { data } = await rest.request('GET', `/rest/executions/${id}`);
			const items = itemsOf({ data: parse(data) }, 'Make');
			assert.equal(items.filter(({ json }) => json.status === 'completed').length, ROWS_EACH);
		}
	}
});
