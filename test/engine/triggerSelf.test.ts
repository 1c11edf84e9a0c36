import type { IDataObject, INode } from 'n8n-workflow';
import { good } from './seen';
import type { RunningWorkflow } from '../../demo/engine.mts';
import { PAID_OPERATIONS } from '../../nodes/shared/contract';
import { EVENTS } from '../../nodes/shared/n8n/triggerEvents';
import type { HistoryItem } from '../../simulator/simulator.mts';
import { answer, looks, made, message, onCreate, onHistory, posts, readings } from './service';
import { begin, fakeTime, image, node, RETRY, run, sim, speech, start, video } from './setup';
import { pass, passUntil } from './time';
import {
	activate,
	activateListening,
	type ActiveTrigger,
	callOf,
	CALLER,
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
	it.each(EVENTS)(
		'is not published with any operation that makes what $value tells of',
		async ({ value, source }) => {
			const makers = PAID_OPERATIONS.filter(
				({ kind }) => (kind === 'speech' ? 'tasks' : 'history') === source,
			);
			expect(makers).not.toEqual([]);
			for (const { resource, operation } of makers) {
				const behind = [called({ resource, operation })];
				await expect(activate({ parameters: { events: [value] }, behind })).rejects.toThrow(
					"'Called' generates what the trigger listens for",
				);
			}
		},
	);

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
		expect(message).toMatch(`'${name}' generates what the trigger listens for`);
		expect(message).toMatch(/move that node to a sub-workflow, called with/i);
		// Who follows the advice must know where it does not hold.
		expect(message).toMatch(
			/not in queue mode.*Even then, a loop through nested sub-workflows, HTTP Request, MCP, lost responses/,
		);
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
	/** The workflow of `run` and `begin`, called by another. */
	const called = { behind: [callOf()] };
	const otherStart = node({}, { name: 'Start', type: 'n8n-nodes-base.manualTrigger' });
	const asCalled = async (what: string | IDataObject | INode, calledBy = CALLER) => {
		const running = await begin(typeof what === 'string' ? speech(what) : what);
		running.currentRun().data.parentExecution = { workflowId: calledBy, executionId: '1' };
		return running;
	};

	it('what that creates starts nothing, though it is told of before its id is known', async () => {
		await start({ pace: 0.1 });
		const trigger = await activate({ ...called, workflowId: CALLER, parameters: onAll });
		good(await (await asCalled('[sim:messages-first] Its own')).finished);
		const foreign = await createTask('Somebody else’s');
		// Percentages that come at once start one execution, so their number depends on the load.
		await trigger.until(`completed ${foreign} 100`);
		expect(told(trigger)).toEqual(new Set([foreign]));
	});

	it.each([
		['called by another workflow', 'another', called],
		['not called after the trigger', CALLER, { beside: [otherStart, ...called.behind] }],
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

	it('other tasks do not wait for a create call that was refused and rests', async () => {
		await start({ pace: 0 });
		const setting = { ...called, workflowId: CALLER, parameters: onAll };
		const trigger = await activateListening(setting);
		fakeTime();
		onCreate(answer(429, {}, { 'Retry-After': '100' }));
		await asCalled('Refused');
		await passUntil(() => posts() === 1);
		sim.broadcast(message('foreign', 50));
		await pass(5);
		expect(trigger.events()).toEqual(['progress foreign 50']);
	});

	describe('that creates videos', () => {
		/** Triggers in one workflow. */
		const follow = async (parameters: IDataObject = generated) => {
			const setting = { ...called, workflowId: CALLER, parameters };
			const [trigger] = await Promise.all([activate(setting), pass(3)]);
			return trigger;
		};
		const create = async (...[prompt, options, more]: Parameters<typeof video>) =>
			await asCalled(video(prompt, options, { download: false, ...more }));
		/** The history names something now; `id` may be a number. */
		const list = (id: unknown, changes: Partial<HistoryItem> = {}) => {
			const created_at = new Date().toISOString();
			sim.history.unshift(made(id as string, { created_at, ...changes }));
		};
		const event = (data: unknown, name = 'video_generation_status') =>
			`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
		const done = (data: unknown) => event(data, 'video_generation_complete');
		const idsOf = ({ started }: ActiveTrigger) => started.map(({ item }) => item.json.id);

		beforeEach(async () => {
			await start({ pace: 1 });
			fakeTime();
		});

		it('none of them starts anything, though another takes minutes longer', async () => {
			const triggers = [await follow(), await follow()];
			await create('[sim:slow=250] Slow');
			await create('[sim:slow=20] Quick');
			await pass(240, 5);
			expect(sim.history).toHaveLength(1);
			await pass(200, 5);
			expect(sim.history).toHaveLength(2);
			list('foreign');
			await pass(70);
			expect(triggers.map(idsOf)).toEqual([['foreign'], ['foreign']]);
		});

		it.each<[string, IDataObject, (running: RunningWorkflow) => void]>([
			['time out', { timeout: 20 }, () => {}],
			['are stopped', {}, (running) => running.cancel()],
		])('nor do those that %s once their id was told', async (_, options, end) => {
			const trigger = await follow();
			onCreate({ sse: [event({ status: 'processing', id: 4711 })] });
			const running = await create('P', options);
			await pass(10);
			end(running);
			await pass(30);
			list('4711', { prompt: 'Written anew' });
			await pass(180, 5);
			expect(trigger.started).toEqual([]);
		});

		it('nor does the first of several, told minutes before the last', async () => {
			const trigger = await follow();
			const [first, second] = [made('first'), made('second')];
			onCreate({ sse: [done([first]), { delayMs: 280_000 }, done([second]), 'END'] });
			await create('P', {}, { numberOfVideos: 2 });
			await pass(5);
			list('first');
			await pass(240, 5);
			expect(trigger.started).toEqual([]);
		});

		it('nor does an image of several addresses, though they are signed anew', async () => {
			const trigger = await follow();
			const addresses = (by: string) => ['a', 'b'].map((name) => `/files/${name}.png?sig=${by}`);
			onCreate({ sse: [done([{ file_urls: addresses('1') }]), 'END'] });
			good(await (await asCalled(image('P', {}, { download: false }))).finished);
			list('image', { file_urls: addresses('2').reverse(), file_url: '' } as Partial<HistoryItem>);
			await pass(70);
			expect(trigger.started).toEqual([]);
		});

		it('nor does one that ended before any id was told, by its prompt, for half an hour', async () => {
			const trigger = await follow();
			onCreate({ sse: [event('processing')] });
			await create('P', { timeout: 20 });
			await pass(30);
			list('late');
			list('foreign', { prompt: 'Q' });
			await pass(1900, 10);
			list('afterwards');
			await pass(70);
			expect(idsOf(trigger)).toEqual(['foreign', 'afterwards']);
		});

		it('nor does one that fails, where failures are told', async () => {
			await start({ pace: 1, dialect: { historyShowsInProgress: true } });
			const trigger = await follow({ events: ['generated', 'failed'] });
			await create('[sim:unsafe] Its own');
			await pass(70);
			expect(sim.history).toHaveLength(1);
			list('foreign', { prompt: '[sim:unsafe] Its own' });
			await pass(70);
			expect(idsOf(trigger)).toEqual(['foreign']);
		});

		it('nor does one whose stream is lost, which a retry finds', async () => {
			const trigger = await follow();
			onCreate({ sse: [event('processing'), 'RESET'] });
			onHistory(answer(500, {}), { times: 12 });
			const { finished } = await asCalled(
				node(video('P', {}, { download: false }), { ...RETRY, waitBetweenTries: 5000 }),
			);
			await pass(5);
			list('lost');
			await passUntil(() => looks() > 14, 900);
			await pass(70);
			good(await finished);
			list('foreign', { prompt: 'Q' });
			await pass(70);
			expect(idsOf(trigger)).toEqual(['foreign']);
		});

		const ID_STATES = [
			['unknown', event('processing')],
			['told', event({ status: 'processing', id: 'own' })],
		];

		it.each(ID_STATES)(
			'others of another prompt are told within seconds while one is made, whose id is %s',
			async (_, reported) => {
				const trigger = await follow();
				onCreate({ sse: [reported!, { delayMs: 200_000 }, done([made('own')]), 'END'] });
				await create('P');
				list('foreign', { prompt: 'Q' });
				await pass(75);
				expect(idsOf(trigger)).toEqual(['foreign']);
			},
		);

		// The history may have another id for it than the one that was told.
		it.each(ID_STATES)(
			'others of the same prompt are told once it is done: %s',
			async (_, reported) => {
				const trigger = await follow();
				onCreate({ sse: [reported!, { delayMs: 200_000 }, done([made('own')]), 'END'] });
				await create('P');
				list('foreign');
				await pass(180, 5);
				expect(trigger.started).toEqual([]);
				list('own');
				await pass(60);
				expect(idsOf(trigger)).toEqual(['foreign']);
			},
		);

		it.each([
			['once it is done', 0],
			['while it is made', 100_000],
		])(
			'nor does one that the history has under another id and address: %s',
			async (when, delayMs) => {
				const trigger = await follow();
				const reported = event({ status: 'processing', id: 'own' });
				onCreate({ sse: [reported, { delayMs }, done([made('own')]), 'END'] });
				await create('P');
				await pass(5);
				list(`listed ${when}`);
				await pass(200, 5);
				list('foreign');
				await pass(70);
				expect(idsOf(trigger)).toEqual(['foreign']);
			},
		);

		it('those that are told apart by their query alone are known by their ids', async () => {
			const trigger = await follow();
			const address = (id: string) => `${sim.fileOrigin}/file?name=${id}`;
			onCreate({ sse: [done([made('own', { file_url: address('own') })]), 'END'] });
			good(await (await create('P')).finished);
			for (const id of ['own', 'foreign']) list(id, { file_url: address(id) });
			await pass(70);
			expect(idsOf(trigger)).toEqual(['foreign']);
		});
	});
});
