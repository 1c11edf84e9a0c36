import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { waitForEnd } from '../../tools/n8n/executions.mts';
import { changedExample, example } from '../n8n/setting.mts';
import { byId, canvasNode, execute, openEditor } from './browser.mts';

const { instance, rest, page, close, add, paid } = await openEditor();
after(close);
const speak = example('speak');
const LATER = 'Later';

/** Five rows, the node, and one after it. */
function fiveRows() {
	const workflow: any = changedExample('speak');
	const node = workflow.nodes.find(({ name }: any) => name === speak.nodeName);
	node.parameters.text = '={{ $json.t }}';
	node.parameters.options = { timeout: 60, speed: 1 };
	const rows = JSON.stringify(['A', 'B', 'C', 'D', 'E'].map((t) => ({ t })));
	const own = (name: string, type: string, parameters: object) => {
		return { id: name, name, type, typeVersion: 2, position: [0, 0], parameters };
	};
	const trigger = workflow.nodes.find(({ type }: any) => type.endsWith('manualTrigger'));
	const code = own('Rows', 'n8n-nodes-base.code', {
		jsCode: `return ${rows}.map((json) => ({ json }));`,
	});
	const later = { ...own(LATER, 'n8n-nodes-base.noOp', {}), typeVersion: 1, position: [700, 0] };
	const to = (name: string) => ({ main: [[{ node: name, type: 'main', index: 0 }]] });
	return {
		...workflow,
		nodes: [trigger, code, node, later],
		connections: {
			[trigger.name]: to(code.name),
			[code.name]: to(node.name),
			[node.name]: to(LATER),
		},
	};
}

/**
 * Runs the later node alone. Asks n8n when it has ended: where nothing is to be made, that may be before the editor
 * knows which execution it has started, and then it says nothing.
 */
async function executeLater(): Promise<void> {
	await canvasNode(page, LATER).dblclick();
	const started = page.waitForResponse(/\/rest\/workflows\/[^/]+\/run/);
	await byId(page, 'node-execute-button').click();
	const { data } = await (await started).json();
	const { status } = await waitForEnd(rest, data.executionId, 60_000);
	assert.equal(status, 'success');
	await page.keyboard.press('Escape');
}

async function change(field: string, value: string): Promise<void> {
	await canvasNode(page, speak.nodeName).dblclick();
	const input = byId(page, `parameter-input-${field}`).locator('input').first();
	await input.fill(value);
	await input.blur();
	await page.keyboard.press('Escape');
}

test(
	'Execute step on a later node pays only for what has changed',
	{ timeout: 300_000 },
	async () => {
		const { id } = await add(fiveRows());
		await page.goto(`${instance.baseUrl}/workflow/${id}`);
		await canvasNode(page, LATER).waitFor();
		await execute(page);
		assert.equal(paid(), 5);

		await change('timeout', '61');
		await executeLater();
		assert.equal(paid(), 5, 'after another Timeout');

		await page.reload();
		await canvasNode(page, LATER).waitFor();
		await executeLater();
		assert.equal(paid(), 5, 'after a reload');

		await change('speed', '1.1');
		await executeLater();
		assert.equal(paid(), 10, 'after another Speed');
	},
);
