import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { setUp } from './setting.mts';
import { createCredential, RemoteWorkflow, resting, triggered } from './workflows.mts';

/* Executions started by new history entries, in a complete n8n. */

const OTHER_TOKEN = 'sk-n8ntest-history-Vb52hQm8';
const INTERVAL_SECONDS = 10;
const AMOUNT = 200;

const { instance, simulator, rest, start, close } = await setUp({
	otherTokens: [OTHER_TOKEN],
	dialect: { history: 'paged', historyMaking: true },
});
after(close);
await start();

it('every entry starts one execution: n8n is killed and halted, pages shift, readings fail', async (t) => {
	const { history } = simulator;
	let made = 0;
	const add = (name: string, minutesAgo = 0) =>
		history.unshift({
			id: name,
			prompt: 'A paper boat',
			type: 'video',
			file_url: `${simulator.fileOrigin}/files/video/${name}.mp4`,
			status: 'completed',
			created_at: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
			owner: OTHER_TOKEN,
		});
	const name = (number: number) => `entry-${String(number).padStart(3, '0')}`;
	const wave = async (amount: number, seconds: number) => {
		for (let n = 0; n < amount; n++) {
			add(name(made++));
			// Deleted on the service's side: older entries move up.
			if (n % 10 === 9)
				history.splice(
					history.findIndex(({ id }) => id.startsWith('old')),
					1,
				);
			await pause((seconds * 1000) / amount);
		}
	};
	for (let n = 400; n > 0; n--) add(`old-${n}`, 3 * n);
	const credential = await createCredential(rest, simulator, OTHER_TOKEN);
	const parameters = { events: ['generated'], options: { checkInterval: INTERVAL_SECONDS } };
	const workflow = await RemoteWorkflow.create(
		rest,
		triggered('Every entry', parameters, resting(0.3), credential),
	);
	const requests = () => simulator.count('GET', '/v1/video/histories');
	const before = requests();
	const began = Date.now();
	await workflow.publish();

	await wave(20, 12);
	simulator.fault({ path: '/v1/video/histories', times: 2, action: { reset: true } });
	await wave(20, 12);
	// More than a page at once, and still more while the pages are read.
	await wave(60, 1);
	await simulator.waitFor(() => requests() > before + 4, 60_000);
	await wave(20, 10);
	await workflow.ended(60, 120_000);
	await instance.crash();
	await wave(20, 1);
	await start();
	await wave(20, 10);
	instance.sleep();
	await wave(20, 15);
	instance.wake();
	await wave(20, 20);
	assert.equal(made, AMOUNT);

	// When some are missing, the assertions below say more than a timeout.
	const executions = await workflow.ended(AMOUNT, 300_000).catch(() => workflow.executions());
	await pause(2 * INTERVAL_SECONDS * 1000);
	const all = await workflow.executions();
	assert.equal(all.length, executions.length);
	const told = all.map(({ data }) => /"(entry-\d+|old-\d+)"/.exec(data)?.[1]);
	assert.deepEqual(
		told.sort(),
		Array.from({ length: AMOUNT }, (_, number) => name(number)),
	);
	const seconds = (Date.now() - began) / 1000;
	const sent = requests() - before;
	t.diagnostic(`${sent} readings in ${Math.round(seconds)} s, ${simulator.sockets()} sockets`);
	// A look goes ten minutes back: here that is up to two pages; two waves took more.
	assert.ok(sent < (2 * seconds) / INTERVAL_SECONDS + 25, `${sent} readings`);
	assert.equal(simulator.socketsEver, 0);
	await workflow.unpublish();
});
