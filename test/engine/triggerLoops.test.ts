import type { IDataObject, INode } from 'n8n-workflow';
import { startSimulator } from '../../simulator/simulator.mts';
import { inARow, triggerNode } from '../service/triggerNode.mts';
import { good } from './seen';
import { taskOf } from './service';
import {
	fakeTime,
	image,
	NODE,
	node,
	run,
	sim,
	speech,
	start,
	video,
	workflow,
	type Setting,
} from './setup';
import { pass } from './time';
import {
	activate,
	beginCalled,
	callOf,
	CALLER,
	createTask,
	told,
	type TriggerSetting,
} from './triggerSetup';

/* Loops through another trigger, an error workflow or another credential: they are refused, or passed over. */

const generated = { events: ['generated'] };
const otherTrigger = (parameters: IDataObject = {}, more: Partial<INode> = {}): INode => ({
	...triggerNode(parameters, 'other-trigger'),
	name: 'Other Trigger',
	...more,
});
/** The workflow of a trigger with this node behind it, and what follows another trigger. */
const published = (parameters: IDataObject, added: INode, ...beside: INode[]) => {
	const { nodes, connections, ...file } = workflow(added);
	const trigger = { ...triggerNode(parameters), name: nodes[0]!.name };
	const more = inARow(beside);
	return {
		...{ ...file, nodes: [trigger, ...nodes.slice(1), ...beside] },
		connections: { ...connections, ...more },
	};
};
/** Runs this node as the sub-workflow `id` of the workflow with the trigger. */
const runCalled = async (id: string, parameters: IDataObject, credential: IDataObject = {}) => {
	const subject = { ...workflow(node(parameters)), id };
	const { finished } = await beginCalled(subject, { credential: credential as never });
	good(await finished);
};

describe('the error workflow of a workflow that is called after the trigger', () => {
	const speakAfterFailureOf = async (id: string) => {
		const execution = { id: '1', mode: 'integrated', error: { message: 'Oops' } };
		const items = [{ execution, workflow: { id, name: 'Failed' } }];
		const subject = { ...workflow(node(speech(`Failure of ${id}`))), id: 'errors' };
		good(await run(subject, { mode: 'error', items }));
	};

	it.each(['called', '={{ $json.workflow }}'])(
		'starts nothing by what it creates: %s',
		async (id) => {
			await start({ pace: 0 });
			const trigger = await activate({ workflowId: CALLER, behind: [callOf(id)] });
			await speakAfterFailureOf('called');
			const foreign = await createTask('Somebody else’s');
			await trigger.has(1);
			expect(told(trigger)).toEqual(new Set([foreign]));
		},
	);

	it('starts something by what it creates after the failure of another', async () => {
		await start({ pace: 0 });
		const trigger = await activate({ workflowId: CALLER, behind: [callOf('called')] });
		await speakAfterFailureOf('called');
		await speakAfterFailureOf('another');
		await trigger.has(1);
		const foreign = await createTask('Somebody else’s');
		await trigger.has(2);
		expect(told(trigger)).toEqual(new Set([taskOf('Failure of another').id, foreign]));
	});
});

describe('what is added after the trigger once it is published, which n8n does not restart then,', () => {
	const onStart: Setting = {
		mode: 'trigger',
		items: [{ event: 'completed' }, { event: 'completed' }],
	};

	it.each([
		['speech', { events: ['completed'] }, () => speech('Again')],
		['speech, with an expression', { events: "={{ ['failed'] }}" }, () => speech('Again')],
		['speech, by a text', { events: "={{ 'failed, completed' }}" }, () => speech('Again')],
		['speech, with no tasks', { taskIds: "={{ ' ' }}" }, () => speech('Again')],
		['speech, with a blank', { taskIds: ' ' }, () => speech('Again')],
		['speech, with an empty list', { taskIds: '[,]' }, () => speech('Again')],
		['speech, with nothing', { taskIds: '={{ null }}' }, () => speech('Again')],
		['a video', generated, () => video('Again')],
	])('is refused before anything is sent: %s', async (_, parameters, added) => {
		const result = await run(published(parameters, node(added())), onStart);
		expect(result.error?.message).toMatch(`${NODE}' generates what the trigger listens for`);
		expect(result.error?.message).not.toMatch('Row');
		expect(sim.requests).toEqual([]);
	});

	it('is refused behind a node whose name is a number, which JavaScript lists first', async () => {
		const draw = node(image('Once'), { name: '1' });
		const { connections, ...file } = published({}, node(speech('Again')));
		const [start, ...others] = file.nodes;
		const nodes = [start!, draw, ...others];
		const result = await run({ ...file, nodes, connections: inARow(nodes) }, onStart);
		expect(result.error?.message).toMatch(`${NODE}' generates what the trigger listens for`);
		expect(sim.requests).toEqual([]);
	});

	it('is refused if it starts this trigger through another', async () => {
		const beside = [otherTrigger(generated), node(speech('Again'), { name: 'Speak' })];
		const result = await run(published({}, node(video('Again')), ...beside), onStart);
		expect(result.error?.message).toMatch("'Speak' generates what the trigger listens for");
		expect(sim.requests).toEqual([]);
	});

	it.each<[string, IDataObject, Setting]>([
		['by a retry, which starts itself once at most', { events: ['completed'] }, { mode: 'retry' }],
		['by an event of listed tasks', { events: ['completed'], taskIds: '4711' }, {}],
		['by an event of another kind', generated, {}],
		['by an event of another kind, with an expression', { events: "={{ ['generated'] }}" }, {}],
	])('is allowed if it is started %s', async (_, parameters, setting) => {
		good(await run(published(parameters, node(speech('Once'))), { ...onStart, ...setting }));
	});

	it('starts nothing by what it calls', async () => {
		await start({ pace: 0 });
		const trigger = await activate({ workflowId: CALLER });
		await runCalled('added', speech('Added'));
		const foreign = await createTask('Somebody else’s');
		await trigger.has(1);
		expect(told(trigger)).toEqual(new Set([foreign]));
	});
});

describe('two triggers in one workflow', () => {
	const show = () => node(video('Again'), { name: 'Show' });
	const speak = () => node(speech('Again'), { name: 'Speak' });

	it.each<[string, () => TriggerSetting]>([
		['Speak', () => ({ behind: [show()], beside: [otherTrigger(generated), speak()] })],
		[
			'Show',
			() => ({ parameters: generated, behind: [speak()], beside: [otherTrigger(), show()] }),
		],
		[
			'Speak',
			() => ({ behind: [show()], beside: [otherTrigger({ events: '={{ $json }}' }), speak()] }),
		],
	])('that start each other are not published, and the error names %s', async (name, setting) => {
		const refusal = await activate(setting()).catch(String);
		expect(refusal).toMatch(`'${name}' generates what the trigger listens for`);
	});

	it.each<[string, () => TriggerSetting]>([
		[
			'the other listens for speech',
			() => ({ behind: [show()], beside: [otherTrigger(), speak()] }),
		],
		[
			'the other listens for listed tasks',
			() => {
				const parameters = { events: ['completed'], taskIds: '4711' };
				return {
					parameters: generated,
					behind: [speak()],
					beside: [otherTrigger(parameters), show()],
				};
			},
		],
		[
			'the other is disabled',
			() => ({ behind: [show()], beside: [otherTrigger(generated, { disabled: true }), speak()] }),
		],
		[
			'the other creates what nobody listens for',
			() => {
				const draw = node(image('Once'), { name: 'Draw' });
				return { behind: [draw], beside: [otherTrigger(generated)] };
			},
		],
	])('are published if only one starts the other: %s', async (_, setting) => {
		const trigger = await activate({ activationMode: 'init', ...setting() });
		expect(trigger.errors).toEqual([]);
	});

	it.each([
		['starts nothing if the sub-workflow of this one starts the other', true, false],
		['is told if that of this one creates nothing', false, true],
	])('what the sub-workflow of the other creates %s', async (_, isLoop, isTold) => {
		await start({ pace: 0 });
		const beside = [otherTrigger(), callOf('called')];
		// The process remembers for all tests what a sub-workflow has created.
		const own = `own ${isLoop}`;
		const trigger = await activate({ workflowId: CALLER, behind: [callOf(own)], beside });
		if (isLoop) await runCalled(own, speech('First'));
		await runCalled('called', speech('Its own'));
		const foreign = await createTask('Somebody else’s');
		await trigger.until(`completed ${foreign} 100`);
		expect(told(trigger).has(taskOf('Its own').id)).toBe(isTold);
	});
});

describe('two workflows of which each creates what the other listens for', () => {
	/** Publishes one, with this node behind the trigger; what loops is ended by an error. */
	const publish = async (workflowId: string, parameters: IDataObject, created: IDataObject) =>
		await activate({
			workflowId,
			parameters,
			nodeId: 'trigger',
			async execute({ json }, number) {
				const subject = { ...published(parameters, node(created)), id: workflowId };
				if (number < 5) good(await run(subject, { mode: 'trigger', items: [json] }));
				return undefined;
			},
		});

	it('start each other once, and a third one is told of everything', async () => {
		await start({ pace: 0.05 });
		fakeTime();
		const activating = Promise.all([
			publish('one', { events: ['completed'] }, image('By one')),
			publish('two', generated, speech('By two')),
			activate({ workflowId: 'three', parameters: { events: ['completed'] } }),
		]);
		const [[one, two, three]] = await Promise.all([activating, pass(3)]);
		const foreign = await createTask('Foreign');
		await pass(400, 5);
		expect([one.started.length, two.started.length]).toEqual([1, 1]);
		expect(told(three)).toEqual(new Set([foreign, taskOf('By two').id]));
	});
});

describe('a sub-workflow with another credential of the account', () => {
	/** Another spelling of the Base URL. */
	const respelled = () => ({ baseUrl: sim.baseUrl.replace('127.0.0.1', 'localhost') });

	it('starts nothing by speech', async () => {
		await start({ pace: 0.2 });
		const trigger = await activate({ workflowId: CALLER, behind: [callOf('called')] });
		await runCalled('called', speech('Its own'), respelled());
		const foreign = await createTask('Somebody else’s');
		await trigger.has(1);
		expect(told(trigger)).toEqual(new Set([foreign]));
	});

	it('starts nothing by videos', async () => {
		await start({ pace: 1 });
		fakeTime();
		const setting = { workflowId: CALLER, behind: [callOf('called')], parameters: generated };
		const [trigger] = await Promise.all([activate(setting), pass(3)]);
		const made = runCalled('called', video('Its own', {}, { download: false }), respelled());
		await pass(180, 5);
		await made;
		expect(sim.history).toHaveLength(1);
		expect(trigger.started).toEqual([]);
	});

	it('does not hide the task of the same ID at another service', async () => {
		const other = await startSimulator({ token: sim.token, pace: 0 });
		try {
			const trigger = await activate({ workflowId: CALLER, behind: [callOf('called')] });
			await runCalled('called', speech('Its own'), { baseUrl: other.baseUrl });
			const foreign = await createTask('Somebody else’s');
			expect([...other.tasks.keys()]).toEqual([foreign]);
			await trigger.has(1);
		} finally {
			await other.close();
		}
	});
});
