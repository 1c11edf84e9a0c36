/*
 * npm run leaks:generated: a day of a trigger that follows the history, in n8n's engine, with the clock
 * turned by hand. Prints what it keeps of it as one line of JSON; its exit code tells whether that is more
 * than it may be.
 */
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { INodeExecutionData, IRun } from 'n8n-workflow';
import { useBinaryMode } from '../../demo/n8n.mts';
import { activateTrigger, triggerNode } from '../service/triggerNode.mts';
import { heapAfterCollection, startService } from './measure.mts';

const TOKEN = 'leak-test-token-4Kd9';
const INTERVAL_SECONDS = 30;
const CHECKS = (24 * 3600) / INTERVAL_SECONDS;
/** Every so many checks something new is found. */
const CHECKS_PER_ENTRY = 10;
/** Until then n8n's own caches fill. */
const WARM = CHECKS / 6;
const STEP_MS = 5000;
const MIB = 2 ** 20;
const MOST_GROWN_MIB = 2;

const { baseUrl, ask } = await startService({
	token: TOKEN,
	dialect: { history: 'paged' },
	old: 1000,
});

let told = 0;
let withFile = 0;
function emit([items]: INodeExecutionData[][], _: unknown, done?: { resolve(run: IRun): void }) {
	told++;
	if (items?.[0]?.binary?.data) withFile++;
	done?.resolve({} as IRun);
}

/** Waits until nothing is under way but what waits for the clock. */
async function settled(): Promise<void> {
	for (let quiet = 0; quiet < 5; quiet++) {
		await turn();
		if (process.getActiveResourcesInfo().some((kind) => /^(TCP|GetAddr|FSReq|Pipe)/.test(kind)))
			quiet = 0;
	}
}

const began = Date.now();
mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'], now: began });
await useBinaryMode('filesystem');
const options = { download: true, checkInterval: INTERVAL_SECONDS };
const trigger = await activateTrigger(
	{
		workflowId: 'a-day',
		nodes: [triggerNode({ events: ['generated'], options })],
		credential: { apiToken: TOKEN, baseUrl, webSocketUrl: '' },
	},
	emit,
	(error) => {
		throw error;
	},
);
let made = 0;
const heap: number[] = [];
for (let check = 0; check < CHECKS; check++) {
	if (check % CHECKS_PER_ENTRY === 0) {
		await ask({ makeAt: Date.now() });
		made++;
	}
	for (let passed = 0; passed < INTERVAL_SECONDS * 1000; passed += STEP_MS) {
		mock.timers.tick(STEP_MS);
		await settled();
	}
	if (check % WARM === WARM - 1) heap.push((await heapAfterCollection()) / MIB);
}
const { looks } = await ask('state');
await trigger.closeFunction?.();
mock.timers.reset();

const grownMiB = heap.at(-1)! - heap[0]!;
const report = {
	checks: looks,
	made,
	told,
	withFile,
	seconds: Math.round((Date.now() - began) / 1000),
	heapMiB: heap.map((mib) => Number(mib.toFixed(1))),
	grownMiB: Number(grownMiB.toFixed(2)),
	mostGrownMiB: MOST_GROWN_MIB,
};
console.log(JSON.stringify(report));
const isWell =
	grownMiB <= MOST_GROWN_MIB && told === made && withFile === made && looks > CHECKS * 0.9;
process.exit(isWell ? 0 : 1);
