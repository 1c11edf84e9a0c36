import type { IDataObject, INode } from 'n8n-workflow';
import { good } from './seen';
import { onCreate, posts, readings } from './service';
import { begin, node, run, sim, speech, start, video } from './setup';
import {
	activate,
	createTask,
	listenByHand,
	onAll,
	told,
	type TriggerSetting,
} from './triggerSetup';

const generated = { events: ['generated'] };
const speak = () => node(speech('Again'), { name: 'Speak' });
const agent = node({}, { name: 'Agent', type: '@n8n/n8n-nodes-langchain.agent' });
const called = (parameters: IDataObject, name = 'Called') => node(parameters, { name });
const asTool = (name: string): INode => {
	return { ...called({}, name), type: 'n8n-nodes-media-generation.mediaGenerationTool' };
};

describe('a workflow that would start itself', () => {
	it.each<[string, () => TriggerSetting]>([
		['Speak', () => ({ behind: [speak()] })],
		['Speak', () => ({ behind: [agent, speak()] })],
		['Speaker', () => ({ behind: [agent], tools: [asTool('Speaker')] })],
		['Called', () => ({ behind: [called({ resource: '={{ $json.resource }}' })] })],
		['Called', () => ({ behind: [called({ operation: '={{ $json.operation }}' })] })],
		['Called', () => ({ behind: [called({ resource: 'image' })], parameters: generated })],
		[
			'Called',
			() => ({
				behind: [called(video('Again'))],
				parameters: { events: ['completed', 'generated'], taskIds: '1' },
			}),
		],
		['Speak', () => ({ behind: [speak()], activationMode: 'init' })],
	])('is not published, and the error names the node: %s', async (name, setting) => {
		const { message } = (await activate(setting()).catch((error: Error) => error)) as Error;
		expect(message).toMatch(`'${name}' follows this trigger`);
		expect(message).toMatch(new RegExp(`call '${name}' in another workflow`, 'i'));
		// Who follows the advice must know where it does not hold.
		expect(message).toMatch(/queue mode, in a sub-workflow of that one, or with HTTP Request/);
		// By this word n8n would give the workflow up.
		expect(message).not.toMatch(/Authorization/);
		expect(sim.requests).toEqual([]);
	});

	it('is told that Task IDs are the other way out, where these help', async () => {
		const refusal = async (setting: TriggerSetting) => await activate(setting).catch(String);
		expect(await refusal({ behind: [speak()] })).toMatch(/'Task IDs'/);
		const behind = [called(video('Again'))];
		expect(await refusal({ behind, parameters: generated })).not.toMatch(/'Task IDs'/);
	});

	it.each<[string, () => TriggerSetting]>([
		['Task IDs are named', () => ({ behind: [speak()], parameters: { taskIds: '4711' } })],
		['the node is disabled', () => ({ behind: [{ ...speak(), disabled: true }] })],
		['it makes something else', () => ({ behind: [called(video('Other'))] })],
		['it only waits', () => ({ behind: [called({ operation: 'wait' })] })],
		['it makes speech, not videos', () => ({ behind: [speak()], parameters: generated })],
	])('is one only if it really would: not where %s', async (_, setting) => {
		const trigger = await activate(setting());
		expect(trigger.errors).toEqual([]);
	});

	it('may be tried by hand, where one event comes', async () => {
		const listening = await listenByHand({ behind: [speak()] });
		await listening.start();
		const taskId = await createTask('By hand');
		expect((await listening.first)?.json.task_id).toBe(taskId);
		await listening.close();
	});
});

it('what a workflow creates beside its trigger is told like everything else', async () => {
	const trigger = await activate({ workflowId: 'workflow-under-test' });
	good(await run(speech('By the schedule')));
	await trigger.has(1);
	expect(told(trigger)).toEqual(new Set(sim.tasks.keys()));
});

describe('where a sub-workflow is called after the trigger', () => {
	const CALLER = 'caller';
	/** The workflow of `run` and `begin`, called by another. */
	const called = {
		behind: [
			node(
				{ workflowId: { __rl: true, mode: 'id', value: 'workflow-under-test' } },
				{ name: 'Call', type: 'n8n-nodes-base.executeWorkflow' },
			),
		],
	};
	const asCalled = async (text: string, calledBy = CALLER) => {
		const running = await begin(speech(text));
		running.soFar().data.parentExecution = { workflowId: calledBy, executionId: '1' };
		return running;
	};

	it('what that creates starts nothing, though it is told of before its id is known', async () => {
		await start({ pace: 0.1 });
		const trigger = await activate({ ...called, workflowId: CALLER, parameters: onAll });
		good(await (await asCalled('[sim:messages-first] Its own')).finished);
		const foreign = await createTask('Somebody else’s');
		await trigger.has(6);
		expect(told(trigger)).toEqual(new Set([foreign]));
	});

	it.each([
		['called by another workflow', 'another', called],
		['not called after the trigger', CALLER, {}],
	])('what one creates that is %s is told', async (_, calledBy, setting) => {
		const trigger = await activate({ ...setting, workflowId: CALLER });
		good(await (await asCalled('Not its own', calledBy)).finished);
		await trigger.has(1);
	});

	it('other tasks wait only until its create call is answered', async () => {
		await start({ pace: 0 });
		const trigger = await activate({ ...called, workflowId: CALLER });
		onCreate({ hang: true });
		const running = await asCalled('Never answered');
		await sim.waitFor(() => posts() === 1);
		const foreign = await createTask('Somebody else’s');
		await sim.waitFor(() => readings(foreign).length === 1);
		expect(trigger.started).toEqual([]);
		running.cancel();
		await trigger.has(1);
		expect(trigger.events()).toEqual([`completed ${foreign} 100`]);
	});
});
