import { readFileSync } from 'node:fs';
import type { IDataObject, INodeExecutionData, INodeProperties } from 'n8n-workflow';
import { MediaGeneration } from '../../nodes/MediaGeneration/MediaGeneration.node';
import { IGNORED_IN_KEY } from '../../nodes/MediaGeneration/paid/idempotencyKey';
import { findOperation, operationFields } from '../../nodes/MediaGeneration/resources';
import { MEDIA, PAID_OPERATIONS } from '../../nodes/shared/contract';
import { NodeParameters } from '../../nodes/shared/n8n/parameters';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { readGeneratedFiles, readSpeechTask } from '../../nodes/shared/parsing/responses';
import { EVENTS, taskEvents } from '../../nodes/shared/n8n/triggerEvents';
import { parametersFor } from '../faults/workflow.mts';
import { OPERATIONS } from '../service/operations.mts';
import { schemaOf } from '../service/schemas.mts';
import { bad, good } from './seen';
import {
	ALWAYS,
	answer,
	made,
	onCreate,
	onFile,
	onHistory,
	onRead,
	posts,
	requests,
} from './service';
import { EACH, fakeTime, node, RETRY, run, sim, start } from './setup';
import { hasten, pass, passWhile } from './time';
import { activate, beginCalled, callOf, CALLER, createTask } from './triggerSetup';

/*
 * Every operation that is charged keeps what the package promises, also one that is added later. The first tests are
 * about all operations.
 */

beforeEach(async () => await start({ pace: 0.01 }));

const shownFor = ({ displayOptions }: INodeProperties) => displayOptions?.show ?? {};
const LIMIT = 'maxPaidPerExecution';

/** By their fields: each with an option that limits what is paid. */
const charged = operationFields
	.filter(({ name, options }) => name === 'options' && options?.some(({ name }) => name === LIMIT))
	.map((field) => {
		const { resource, operation } = shownFor(field);
		return { resource: String(resource![0]), operation: String(operation![0]) };
	});

const cases = charged.map((one) => {
	const row = PAID_OPERATIONS.find(({ resource, operation }) => {
		return resource === one.resource && operation === one.operation;
	});
	const { kind, path } = row ?? {};
	return [`${one.resource}: ${one.operation}`, { ...one, kind: kind!, path: path! }] as const;
});

const FILE_URL = 'https://example.com/input';
const READER = { baseUrl: 'https://example.com', redact: redactor('T') };

type Named = Record<'resource' | 'operation', string>;

/** For a file: it is not asked for again, so that the attempt fails with all paid for. */
const GONE = answer(410);

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex');

const fieldsOf = ({ resource, operation }: Named) =>
	operationFields.filter((field) => {
		const show = shownFor(field);
		return show.resource?.includes(resource) && show.operation?.includes(operation);
	});

/** A value for each required field, as a person would fill it in; prompts and texts come from the item. */
const parametersOf = ({ resource, operation }: Named, options: IDataObject): IDataObject => ({
	...parametersFor(`${resource}:${operation}`, EACH, { taskId: '1', voice: sim.voiceIds()[0]! }),
	options,
});

/** Two values that a person could choose. */
function twoValuesOf({ type, options = [], typeOptions, placeholder }: INodeProperties) {
	if (type === 'resourceLocator')
		return sim.voiceIds().map((value) => ({ __rl: true, mode: 'id', value }));
	if (type === 'options') return options.map((option) => (option as { value: string }).value);
	if (type === 'boolean') return [true, false];
	if (type === 'number') return [typeOptions?.minValue ?? 1, typeOptions?.maxValue ?? 2];
	return [placeholder || 'One', 'Two'];
}

const itemsOf = (...texts: string[]): INodeExecutionData[] =>
	texts.map((t) => ({
		json: { t },
		binary: { data: { data: PNG.toString('base64'), mimeType: 'image/png', fileName: `${t}.png` } },
	}));

const all = OPERATIONS.map((which) => {
	const [resource, operation] = which.split(':') as [string, string];
	return [`${resource}: ${operation}`, resource, operation] as const;
});

test.each(all)('%s tells what comes out, charged or free', (_, resource, operation) => {
	expect(schemaOf('MediaGeneration', resource, operation)).toBeDefined();
	const { extraTypeDefContent } = new MediaGeneration().description.builderHint!;
	const outputs = extraTypeDefContent!.filter(({ displayOptions }) => {
		const { resource: shown, operation: only } = displayOptions!.show!;
		return shown?.includes(resource) && (only?.includes(operation) ?? true);
	});
	expect(outputs).toHaveLength(1);
});

test.each(all)('%s reads each field and option before anything is sent', (_, ...names) => {
	const [resource, operation] = names;
	const one = { resource, operation };
	// The first two are read for all operations at once.
	const read = new Set(['concurrency', LIMIT]);
	const options = new Proxy({}, { get: (_, name) => void read.add(String(name)) });
	const image = { binaryPropertyName: 'https://example.com/1.png' };
	const given: IDataObject = { ...parametersOf(one, {}), ...image, options };
	const parameters = new NodeParameters((name, byDefault) => {
		read.add(name);
		return given[name] ?? byDefault;
	});
	findOperation(...names).prepare({ parameters, context: {} } as never);
	const fields = fieldsOf(one);
	const chosen = fields.flatMap((field) => (field.name === 'options' ? field.options! : []));
	const shown = [...fields, ...chosen].map(({ name }) => name);
	expect(shown.filter((name) => !read.has(name))).toEqual([]);
});

test('the table names all that are charged, and nothing else', () => {
	const inTable = PAID_OPERATIONS.map(({ resource, operation }) => `${resource}: ${operation}`);
	// Without the option maxPaid, an operation of the table is missing in `cases`.
	expect(cases.map(([name]) => name).sort()).toEqual(inTable.sort());
});

/** Parameters and options that change what is generated or charged: a retry with another value is another request. */
const PAID_FOR = [
	...['aspectRatio', 'binaryPropertyName', 'modelId', 'numberOfVideos', 'prompt', 'similarity'],
	...['speed', 'stability', 'style', 'text', 'useSpeakerBoost', 'voiceId'],
];

/** Options that change the request, but not the audio: a retry with another value is the same request. */
const SENT_BUT_NOT_PAID_FOR = ['callbackUrl', 'splitLongerThan'];

/** What the service sends back of a request, which the schemas do not show. */
const ECHOED = ['similarity', 'speed', 'stability', 'style', 'type', 'use_speaker_boost'];

test('each parameter and option is known to change what is paid for, or not to', () => {
	const fields = operationFields.filter(
		({ name, displayOptions }) =>
			name !== 'operation' &&
			charged.some(({ resource, operation }) => {
				const { show } = displayOptions!;
				return show!.resource!.includes(resource) && show!.operation!.includes(operation);
			}),
	);
	const names = fields.flatMap(({ name, options }) =>
		name === 'options' ? options!.map((option) => option.name) : name,
	);
	const paidFor = [...new Set(names)].filter((name) => !IGNORED_IN_KEY.has(name));
	const todo =
		'changes what is generated or charged? Add it to PAID_FOR above. Else to IGNORED_IN_KEY';
	const undecided = paidFor.filter((name) => !PAID_FOR.includes(name));
	expect(undecided.map((name) => `${name}: ${todo}`)).toEqual([]);
	expect(PAID_FOR.filter((name) => !paidFor.includes(name))).toEqual([]);
});

// n8n fills in defaults before the key is made: with one more field, a retry of an older execution is another request.
test.each([
	['speech: speak', ['text', 'voiceId', 'modelId']],
	['video: textToVideo', ['prompt', 'aspectRatio', 'numberOfVideos']],
	['video: ingredientsToVideo', ['prompt', 'binaryPropertyName']],
	['video: framesToVideo', ['binaryPropertyName']],
	['image: create', ['prompt']],
])('%s has no more fields than in its first release, only options', (name, expected) => {
	const [, one] = cases.find(([charged]) => charged === name)!;
	const names = fieldsOf(one).map((field) => field.name);
	expect(names.filter((each) => each !== 'options' && !IGNORED_IN_KEY.has(each))).toEqual(expected);
});

describe.each(cases)('%s', (_, one) => {
	const { resource, operation, kind, path } = one;

	it('sends one request for each item, to its own path', async () => {
		const given = parametersOf(one, {});
		const items = good(await run(node(given), { input: itemsOf('One', 'Two', 'Three') }));
		expect(items).toHaveLength(3);
		expect(posts()).toBe(3);
		expect(sim.countRequests('POST', path)).toBe(3);
		for (const { binary } of items) expect(binary!.data!.fileName).toMatch(`${kind}-`);
		// If the simulator's files were all the same, no test would see that an item got the file of another one.
		expect(new Set(items.map(({ binary }) => binary!.data!.data)).size).toBe(3);
	});

	it('sends each field that changes what is generated, and no other', async () => {
		const shown = fieldsOf(one).flatMap((field) =>
			field.name === 'options' ? (field.options as INodeProperties[]) : field,
		);
		const reported: IDataObject = {};
		const unchanged = ['prompt', 'text', 'binaryPropertyName', ...SENT_BUT_NOT_PAID_FOR];
		for (const field of shown.filter(({ name }) => !unchanged.includes(name))) {
			for (const value of twoValuesOf(field).slice(0, 2)) {
				const isOption = !fieldsOf(one).includes(field);
				const given = parametersOf(one, isOption ? { [field.name]: value } : {});
				if (!isOption) given[field.name] = value;
				for (const { json } of good(await run(node(given), { input: itemsOf('One') })))
					Object.assign(reported, json);
			}
			const [first, second] = requests('POST', path)
				.slice(-2)
				.map(({ body }) => JSON.stringify(body));
			const isSent = first !== second;
			// What is sent, but named in IGNORED_IN_KEY: a retry with another value would get the file of the first.
			const { name } = field;
			expect(`${name} is sent: ${isSent}`).toBe(`${name} is sent: ${PAID_FOR.includes(name)}`);
		}
		// The parts of a long text have fields of their own.
		const isPlain = !shown.some(({ name }) => name === 'splitLongerThan');
		const { properties } = schemaOf('MediaGeneration', resource, operation)!;
		const fields = Object.keys(properties!).filter((name) => !/^error|^maybe_/.test(name));
		if (isPlain) expect(fields.filter((name) => !(name in reported))).toEqual([]);
		const others = Object.keys(reported).filter((name) => !(name in properties!));
		expect(others.filter((name) => !ECHOED.includes(name))).toEqual([]);
		const contract = readFileSync('docs/contract.md', 'utf8');
		const names = requests('POST', path).flatMap(({ body }) => Object.keys(body as object));
		expect(names.filter((name) => !contract.includes(`\`${name}\``))).toEqual([]);
		// If the service sends such a field back, the input would be taken for the result.
		const isRead = (name: string) =>
			kind === 'speech'
				? readSpeechTask({ status: 'pending', [name]: FILE_URL }, READER)?.audioUrl
				: readGeneratedFiles({ [name]: FILE_URL }, READER.baseUrl, kind).length > 0;
		expect(names.filter(isRead)).toEqual([]);
	});

	it('is collected by a retry', async () => {
		// The first attempt fails here, as the last test of failures shows.
		onFile(GONE);
		const given = parametersOf(one, {});
		expect(good(await run(node(given, RETRY), { input: itemsOf('One', 'Two') }))).toHaveLength(2);
		expect(posts()).toBe(2);
	});

	it('is not sent again by a retry if nobody knows whether it was accepted', async () => {
		onCreate({ accepted: true, reset: true });
		onHistory(answer(200, '{"items":[]}'), ALWAYS);
		fakeTime();
		const given = parametersOf(one, { timeout: 5 });
		const { result } = await hasten(node(given, RETRY), { input: itemsOf('One') });
		bad(result);
		expect(posts()).toBe(1);
	});

	it('is counted by Max Paid Requests', async () => {
		const given = parametersOf(one, { [LIMIT]: 1 });
		const { message } = bad(await run(node(given), { input: itemsOf('One', 'Two') }));
		expect(message).toMatch("This execution needs 2 paid requests, but 'Max Paid Requests' is 1");
		expect(posts()).toBe(0);
	});

	/** All that a trigger may tell of what the operation makes. */
	const events: string[] = EVENTS.map(({ value }) => value).filter(
		(value) => (taskEvents as string[]).includes(value) === (kind === 'speech'),
	);
	const parameters = { events };

	it('is refused behind the trigger that hears of it', async () => {
		// n8n stores no parameter that has its default.
		for (const stored of [{ resource, operation }, { resource }]) {
			const behind = [node(stored, { name: 'Again' })];
			await expect(activate({ parameters, behind })).rejects.toThrow(
				"'Again' generates what the trigger listens for",
			);
		}
		expect(sim.requests).toEqual([]);
	});

	it.each([
		['and is told its ID', () => {}],
		['and hears nothing of it', () => onCreate({ accepted: true, reset: true })],
	])('starts nothing where a sub-workflow after the trigger creates it %s', async (_, fault) => {
		fakeTime();
		fault();
		const setting = { workflowId: CALLER, behind: [callOf()], parameters };
		const [trigger] = await Promise.all([activate(setting), pass(3)]);
		const { finished } = await beginCalled(node(parametersOf(one, {})), { input: itemsOf('One') });
		await passWhile(finished);
		if (kind !== 'speech') sim.history.unshift(made('foreign'));
		const foreign = kind === 'speech' ? await createTask('Somebody else’s') : 'foreign';
		await pass(130, 5);
		const reported = trigger.started.map(({ item: { json } }) => json.task_id ?? json.id);
		expect(new Set(reported)).toEqual(new Set([foreign]));
	});

	it('says in one hint how long it takes, and what is charged', () => {
		const { hints } = new MediaGeneration().description;
		// Of two that are shown, one would say how long something else takes.
		const shown = hints!.filter(({ displayCondition }) =>
			displayCondition!.includes(`"${resource}:${operation}"`),
		);
		expect(shown.map(({ message }) => message)).toEqual([
			expect.stringMatching(`^Takes ${MEDIA[kind].usualDuration}\\. .*Each run charges all items`),
		]);
	});

	const others = Object.keys(MEDIA).filter((other) => other !== kind);
	/** Images may be what goes in. */
	const othersIn = (words: string) => {
		const own = words.toLowerCase().replace(/(?:from|your|of|or) (?:\w+ )?images?/g, '');
		return others.filter((other) => own.includes(other));
	};

	it.each([
		['a refusal', () => onCreate(answer(422))],
		[
			'an outcome that nobody knows',
			() => {
				onCreate({ accepted: true, reset: true });
				onHistory(answer(200, '{"items":[]}'), ALWAYS);
			},
		],
		['a file that is not there', () => onFile(GONE)],
		[
			'a failed generation',
			() => {
				onRead(answer(200, { status: 'failed' }), ALWAYS);
				if (kind !== 'speech') onCreate(answer(200, 'event: error\ndata: {"error":"UNSAFE"}\n\n'));
			},
		],
	])('fails without a word of other kinds of media: %s', async (_, fault) => {
		fault();
		fakeTime();
		const subject = node(parametersOf(one, { timeout: 5 }));
		const { all } = bad((await hasten(subject, { input: itemsOf('One') })).result);
		expect(posts()).toBeGreaterThan(0);
		expect(othersIn(all)).toEqual([]);
	});

	const fields = fieldsOf(one);
	const takesImages = fields.some(({ name }) => name === 'binaryPropertyName');

	/** The history shows these: an entry with the same prompt may have been made of another image, or another video. */
	const shownFields = ['prompt', 'aspectRatio', 'numberOfVideos', 'options'];
	const isShown = fields.every(
		({ name }) => shownFields.includes(name) || IGNORED_IN_KEY.has(name),
	);
	const found = isShown ? 'is found' : 'is not guessed by its prompt';

	if (kind !== 'speech')
		it(`${found} in the history after a lost stream, though the entry does not say its kind`, async () => {
			await start({ pace: 0.01, dialect: { itemType: 'none' } });
			const given = parametersOf(one, { prompt: EACH });
			fakeTime();
			const { result } = await hasten(node(given), { input: itemsOf('One [sim:stream-resets]') });
			if (isShown) expect(good(result)[0]!.binary!.data!.fileName).toMatch(`${kind}-`);
			else expect(bad(result).message).toMatch('The result did not arrive');
			expect(posts()).toBe(1);
		});

	it('mentions no other kind of media, and waits as long as its own kind takes', () => {
		const { options } = operationFields.find((field) => {
			return field.name === 'operation' && shownFor(field).resource?.includes(resource);
		})!;
		const { action, description } = options!.find((option) => {
			return 'value' in option && option.value === operation;
		}) as { action: string; description: string };
		expect(othersIn(`${action}. ${description}`)).toEqual([]);
		const all = fields.flatMap((field) => [field, ...(field.options ?? [])] as INodeProperties[]);
		const texts = all.map(({ description, hint }) => `${description}. ${hint}`).join(' ');
		expect(othersIn(texts).filter((other) => !(takesImages && other === 'image'))).toEqual([]);
		const { default: timeout } = all.find(({ name }) => name === 'timeout')!;
		expect(timeout).toBe(MEDIA[kind].timeoutSeconds);
	});
});
