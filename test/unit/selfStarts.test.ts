import type { NodeTypeAndVersion } from 'n8n-workflow';
import type { Activation } from '../../nodes/MediaGenerationTrigger/activation/activation';
import { SelfStarts } from '../../nodes/MediaGenerationTrigger/activation/selfStarts';
import type { Failure } from '../../nodes/shared/failure';
import { readCredential } from '../../nodes/shared/http/credential';
import { originsOf } from '../../nodes/shared/n8n/origins';
import { create, type Execution } from './speakNode';

const SPEAK = { resource: 'speech', operation: 'speak' };
const address = readCredential({ apiToken: 'token', baseUrl: 'https://media.example.com' });

type Nodes = Array<Partial<NodeTypeAndVersion>>;

/** The trigger of a workflow, which these nodes follow, and these tools of a node among them. */
function triggerOf(id: string, behind: Nodes = [], tools: Nodes = [], includeOwnTasks = false) {
	const log: string[] = [];
	const errors: unknown[] = [];
	const activation = {
		context: {
			getNode: () => ({ name: 'Trigger' }),
			getWorkflow: () => ({ id }),
			getChildNodes: () => behind,
			getParentNodes: () => tools,
		},
		settings: { includeOwnTasks },
		warn: (text: string) => log.push(text),
		onFatal: ({ facts }: Failure) => errors.push(facts.text ?? 'ten times in a row'),
	} as unknown as Activation;
	return { id, log, errors, selfStarts: new SelfStarts(activation, originsOf(address)) };
}

/** What is logged when it is published. */
function logged(...[behind, tools, includeOwnTasks]: [Nodes, Nodes?, boolean?]): string[] {
	const { selfStarts, log } = triggerOf('w', behind, tools, includeOwnTasks);
	selfStarts.warn();
	return log;
}

/** An execution creates this task. */
async function made(taskId: string, execution: Execution): Promise<void> {
	await create(address, execution, async () => taskId);
}

const speak = (changes: Partial<NodeTypeAndVersion> = {}) => ({
	name: 'Narrate',
	type: 'n8n-nodes-media-generation.mediaGeneration',
	disabled: false,
	parameters: SPEAK,
	...changes,
});

describe('a published workflow in which Speak follows the trigger', () => {
	it('is warned once, in the log', () => {
		const [line, ...more] = logged([speak(), speak()]);
		expect(line).toMatch(/'Narrate' follows the trigger: if n8n runs executions in workers/);
		expect(line).toMatch(/until an error stops it after ten times in a row/);
		expect(more).toEqual([]);
		expect(logged([speak()], [], true)[0]).toMatch(/follows the trigger: all that it creates/);
	});

	it('is also warned when a model may call it', () => {
		const type = 'n8n-nodes-media-generation.mediaGenerationTool';
		const agent = { name: 'Agent', type: '@n8n/n8n-nodes-langchain.agent', disabled: false };
		expect(logged([agent], [speak({ type })]).length).toBe(1);
	});

	it.each<[string, string, Partial<NodeTypeAndVersion>]>([
		['', 'has an expression', { parameters: { ...SPEAK, operation: '={{ $json.do }}' } }],
		['', 'has the defaults', { parameters: {} }],
		['not ', 'is off', { disabled: true }],
		['not ', 'does something else', { parameters: { resource: 'speech', operation: 'get' } }],
		['not ', 'is of another package', { type: 'n8n-nodes-other.speech' }],
	])('is %swarned when the node %s', (not, _, changes) => {
		expect(logged([speak(changes)]).length).toBe(not ? 0 : 1);
	});
});

describe('sub-workflows that speak', () => {
	let workflows = 0;

	/** The trigger of a new workflow, behind which a node calls `sub`. */
	function calling(sub: string, type = 'n8n-nodes-base.executeWorkflow') {
		const workflowId = { __rl: true, mode: 'list', value: sub };
		const call = { name: 'Call', type, disabled: false, parameters: { workflowId } };
		return triggerOf(`main-${++workflows}`, [call]);
	}

	/** Each event starts an execution that speaks; returns how many it takes until an error. */
	async function startsOf(
		triggers: Array<ReturnType<typeof triggerOf>>,
		speakIn: (taskId: string, start: number) => Promise<void>,
		waits = true,
	): Promise<number> {
		let taskId = `first-${workflows}`;
		for (let start = 0; start < 50; start++) {
			const { selfStarts, errors } = triggers[start % triggers.length]!;
			const depth = selfStarts.depthLater(taskId, undefined)();
			if (depth === undefined) return errors.length > 0 ? start : Infinity;
			let end = () => {};
			selfStarts.begin(taskId, depth, new Promise((resolve) => (end = () => resolve(undefined))));
			taskId = `task-${workflows}-${start}`;
			if (!waits) end();
			await speakIn(taskId, start);
			end();
		}
		return 50;
	}

	it('are ended by an error after ten times in a row when two workflows call one each', async () => {
		const pair = [calling('sub-1'), calling('sub-2')];
		const starts = await startsOf(pair, async (taskId, start) => {
			const turn = start % 2;
			await made(taskId, { workflowId: `sub-${turn + 1}`, calledBy: pair[turn]!.id });
		});
		expect(starts).toBe(10);
	});

	it.each<[string, string, boolean]>([
		['when a sub-workflow calls another', 'n8n-nodes-base.executeWorkflow', true],
		['when a tool does', '@n8n/n8n-nodes-langchain.toolWorkflow', true],
		['when the workflow does not wait for them', 'n8n-nodes-base.executeWorkflow', false],
	])('are ended as well %s', async (name, type, waits) => {
		const starts = await startsOf(
			[calling(name, type)],
			async (taskId) => await made(taskId, { workflowId: 'inner', calledBy: name }),
			waits,
		);
		expect(starts).toBe(10);
	});

	it('start no chain when others call the same sub-workflow', async () => {
		const starts = await startsOf(
			[calling('shared')],
			async (taskId) => await made(taskId, { workflowId: 'shared', calledBy: 'other' }),
		);
		expect(starts).toBe(50);
	});
});

describe('workflows of which each execution starts several', () => {
	/**
	 * All triggers are told of a first task, and of each that their executions create. `amountAt` is how
	 * many an execution creates at each depth. Returns the executions and the errors.
	 */
	async function allStarts(
		triggers: Array<ReturnType<typeof triggerOf>>,
		first: string,
		amountAt: (depth: number) => number,
	) {
		const tasks = [first];
		let executions = 0;
		for (const taskId of tasks) {
			for (const { id, selfStarts } of triggers) {
				const depth = selfStarts.depthLater(taskId, undefined)();
				if (depth === undefined) continue;
				selfStarts.begin(taskId, depth, new Promise(() => {}));
				executions++;
				for (let n = 0; n < amountAt(depth); n++) {
					const next = `${first}-${tasks.length}`;
					await made(next, { workflowId: id, startedBy: taskId });
					tasks.push(next);
				}
			}
		}
		return { executions, errors: triggers.flatMap(({ errors }) => errors) };
	}

	it('are ended by a single error after about a hundred, not after two to the power of ten', async () => {
		const pair = [triggerOf('ping'), triggerOf('pong')];
		const errors = ['a hundred times or more'];
		expect(await allStarts(pair, 'pair', () => 2)).toEqual({ executions: 106, errors });
		const three = [triggerOf('one'), triggerOf('two'), triggerOf('three')];
		expect(await allStarts(three, 'three', () => 1)).toMatchObject({ executions: 109 });
	});

	it('start as many as the first execution creates, each of which may lead to a few more', async () => {
		const own = [triggerOf('own', [], [], true)];
		const amountAt = (depth: number) => (depth === 0 ? 300 : depth < 4 ? 1 : 0);
		const all = { executions: 1 + 4 * 300, errors: [] };
		expect(await allStarts(own, 'own', amountAt)).toEqual(all);
	});
});

it('where nothing is known of a task, only executions of the same trigger may have created it', () => {
	const [other, own] = [triggerOf('other'), triggerOf('itself', [speak()])];
	const depthOf = (taskId: string) => {
		own.selfStarts.see(taskId);
		return own.selfStarts.depthLater(taskId, undefined)();
	};
	other.selfStarts.begin('theirs', 0, new Promise(() => {}));
	expect(depthOf('while theirs runs')).toBe(0);
	own.selfStarts.begin('while theirs runs', 0, new Promise(() => {}));
	expect(depthOf('while its own runs')).toBe(1);
});
