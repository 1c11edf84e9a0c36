import type { IExecuteFunctions, ITriggerFunctions, NodeTypeAndVersion } from 'n8n-workflow';
import { SelfStarts } from '../../nodes/MediaGenerationTrigger/activation/selfStarts';
import { readCredential } from '../../nodes/shared/http/credential';
import { createdBy, Origins, originsOf } from '../../nodes/shared/n8n/origins';

const SPEAK = { resource: 'speech', operation: 'speak' };

/** What is logged of a trigger that these nodes follow, and these tools of a node among them. */
function logged(
	behind: Array<Partial<NodeTypeAndVersion>>,
	tools: Array<Partial<NodeTypeAndVersion>> = [],
	includesOwn = false,
): string[] {
	const log: string[] = [];
	const context = {
		getNode: () => ({ name: 'Trigger' }),
		getWorkflow: () => ({ id: 'w' }),
		getChildNodes: () => behind,
		getParentNodes: () => tools,
		logger: { warn: (text: string) => log.push(text) },
	} as unknown as ITriggerFunctions;
	new SelfStarts(context, new Origins(), includesOwn, undefined).warn();
	return log;
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

	it.each<[string, Partial<NodeTypeAndVersion>]>([
		['the operation is an expression', { parameters: { ...SPEAK, operation: '={{ $json.do }}' } }],
		['its parameters are the defaults', { parameters: {} }],
	])('is also warned when %s', (_, changes) => {
		expect(logged([speak(changes)]).length).toBe(1);
	});

	it('is also warned when a model may call it', () => {
		const type = 'n8n-nodes-media-generation.mediaGenerationTool';
		const agent = { name: 'Agent', type: '@n8n/n8n-nodes-langchain.agent', disabled: false };
		expect(logged([agent], [speak({ type })]).length).toBe(1);
	});

	it.each<[string, Partial<NodeTypeAndVersion>]>([
		['is off', { disabled: true }],
		['does something else', { parameters: { resource: 'speech', operation: 'get' } }],
		['is of another package', { type: 'n8n-nodes-other.speech' }],
	])('is not warned when the node %s', (_, changes) => {
		expect(logged([speak(changes)])).toEqual([]);
	});
});

describe('sub-workflows that speak', () => {
	const address = readCredential({ apiToken: 'token', baseUrl: 'https://media.example.com' });
	const origins = originsOf(address);
	let workflows = 0;

	/** The trigger of a new workflow, behind which a node calls `sub`. */
	function calling(sub: string, type = 'n8n-nodes-base.executeWorkflow') {
		const id = `main-${++workflows}`;
		const call = { name: 'Call', type, disabled: false };
		const workflowId = { __rl: true, mode: 'list', value: sub };
		const context = {
			getNode: () => ({ name: 'Trigger' }),
			getWorkflow: () => ({ id }),
			getChildNodes: () => [{ ...call, parameters: { workflowId } }],
			getParentNodes: () => [],
		} as unknown as ITriggerFunctions;
		return { id, selfStarts: new SelfStarts(context, origins, false, undefined) };
	}

	/** An execution of `sub`, called by `by`, creates a task. */
	async function speakIn(sub: string, by: string, taskId: string) {
		const context = {
			getNode: () => ({ name: 'Speak' }),
			getMode: () => 'integrated',
			getWorkflow: () => ({ id: sub }),
			getParentNodes: () => [],
			runExecutionData: { parentExecution: { workflowId: by } },
		} as unknown as IExecuteFunctions;
		await createdBy(context, address, async () => taskId, 'Words');
	}

	/** Each event starts an execution that speaks; returns how many it takes until an error. */
	async function startsOf(
		triggers: Array<SelfStarts>,
		speak: (taskId: string, start: number) => Promise<void>,
		waits = true,
	): Promise<number> {
		let taskId = `first-${workflows}`;
		for (let start = 0; start < 50; start++) {
			const selfStarts = triggers[start % triggers.length]!;
			let depth: number | undefined;
			try {
				depth = selfStarts.knownDepthOf(taskId, 0, undefined);
			} catch {
				return start;
			}
			if (depth === undefined) return Infinity;
			let end = () => {};
			selfStarts.begin(taskId, depth, new Promise((resolve) => (end = () => resolve(undefined))));
			taskId = `task-${workflows}-${start}`;
			if (!waits) end();
			await speak(taskId, start);
			end();
		}
		return 50;
	}

	it('are ended by an error after ten times in a row when two workflows call one each', async () => {
		const [first, second] = [calling('sub-1'), calling('sub-2')];
		const starts = await startsOf([first.selfStarts, second.selfStarts], (taskId, start) =>
			start % 2 === 0 ? speakIn('sub-1', first.id, taskId) : speakIn('sub-2', second.id, taskId),
		);
		expect(starts).toBe(10);
	});

	it.each(['n8n-nodes-base.executeWorkflow', '@n8n/n8n-nodes-langchain.toolWorkflow'])(
		'are ended as well when a sub-workflow calls another: %s',
		async (type) => {
			const middle = `calling by ${type}`;
			const { selfStarts } = calling(middle, type);
			const starts = await startsOf([selfStarts], (taskId) => speakIn('inner', middle, taskId));
			expect(starts).toBe(10);
		},
	);

	it('are ended as well when the workflow does not wait for them', async () => {
		const { selfStarts } = calling('not waited for');
		const speak = async (taskId: string) => await speakIn('inner', 'not waited for', taskId);
		expect(await startsOf([selfStarts], speak, false)).toBe(10);
	});

	it('start no chain when others call the same sub-workflow', async () => {
		const { selfStarts } = calling('shared');
		const starts = await startsOf([selfStarts], (taskId) => speakIn('shared', 'other', taskId));
		expect(starts).toBe(50);
	});
});

describe('workflows of which each execution starts several', () => {
	const address = readCredential({ apiToken: 'several', baseUrl: 'https://media.example.com' });
	const origins = originsOf(address);

	const triggerOf = (id: string, includesOwn = false) => {
		const context = {
			getNode: () => ({ name: 'Trigger' }),
			getWorkflow: () => ({ id }),
			getChildNodes: () => [],
			getParentNodes: () => [],
		} as unknown as ITriggerFunctions;
		return { id, selfStarts: new SelfStarts(context, origins, includesOwn, undefined) };
	};

	/** An execution of `id`, started by the event of a task, creates another task. */
	async function speak(id: string, event: string, taskId: string) {
		const json = { event: 'completed', task_id: event };
		const runData = { Trigger: [{ data: { main: [[{ json }]] } }] };
		const context = {
			getNode: () => ({ name: 'Speak' }),
			getMode: () => 'trigger',
			getWorkflow: () => ({ id }),
			getParentNodes: () => [{ name: 'Trigger', type: 'media.mediaGenerationTrigger' }],
			runExecutionData: { resultData: { runData } },
		} as unknown as IExecuteFunctions;
		await createdBy(context, address, async () => taskId, 'Words');
	}

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
		const errors: string[] = [];
		let executions = 0;
		for (const taskId of tasks) {
			for (const { id, selfStarts } of triggers) {
				try {
					const depth = selfStarts.knownDepthOf(taskId, 0, undefined);
					if (depth === undefined) continue;
					selfStarts.begin(taskId, depth, new Promise(() => {}));
					executions++;
					for (let n = 0; n < amountAt(depth); n++) {
						const made = `${first}-${tasks.length}`;
						await speak(id, taskId, made);
						tasks.push(made);
					}
				} catch (error) {
					errors.push((error as { facts: { text: string } }).facts.text);
				}
			}
		}
		return { executions, errors };
	}

	it('are ended by a single error after about a hundred, not after two to the power of ten', async () => {
		const pair = [triggerOf('ping'), triggerOf('pong')];
		const { executions, errors } = await allStarts(pair, 'pair', () => 2);
		expect(executions).toBe(106);
		expect(errors).toEqual(['a hundred times or more']);
		const three = [triggerOf('one'), triggerOf('two'), triggerOf('three')];
		expect(await allStarts(three, 'three', () => 1)).toMatchObject({ executions: 109 });
	});

	it('start as many as the first execution creates, each of which may lead to a few more', async () => {
		const own = [triggerOf('own', true)];
		const amountAt = (depth: number) => (depth === 0 ? 300 : depth < 4 ? 1 : 0);
		const { executions, errors } = await allStarts(own, 'own', amountAt);
		expect({ executions, errors }).toEqual({ executions: 1 + 4 * 300, errors: [] });
	});
});
