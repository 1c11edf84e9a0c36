import type { IDataObject, INode, INodeExecutionData } from 'n8n-workflow';
import { bad, good, out, saved } from './seen';
import { answer, onCreate, onFile, posts, requests } from './service';
import { CONTINUE, ERROR_OUTPUT, NODE, node, run, sim, speech, task, video } from './setup';

/* Bad input ends a run before anything is sent for any item. How values are read: test/unit/parameters.test.ts. */

/** One value in the second item, another in all others. */
const mixed = (second: unknown, other: unknown) =>
	`={{ $json.n ? ${JSON.stringify(second)} : ${JSON.stringify(other)} }}`;
const options = (changes: IDataObject) => ({ options: changes });
const boat = (changes: IDataObject) => video('A boat', {}, changes);

test.each<[string, IDataObject]>([
	['Text', { text: mixed('  \n ', 'Fine.') }],
	['Text', { text: mixed(undefined, 'Fine.') }],
	['Text', { text: mixed({ a: 1 }, 'Fine.') }],
	['Voice', { voiceId: { __rl: true, mode: 'id', value: mixed(' ', 'x') } }],
	['Model', { modelId: mixed('other', 'labs_v3') }],
	['Voice: Stability', options({ stability: mixed(1.01, 1) })],
	['Voice: Similarity', options({ similarity: mixed(-0.1, 0) })],
	['Voice: Style Exaggeration', options({ style: mixed('much', '0.5') })],
	['Voice: Speed', options({ speed: mixed(0.69, 0.7) })],
	['Voice: Speed', options({ speed: mixed(1.3, 1.2) })],
	['Timeout', options({ timeout: mixed(0, 1) })],
	['Poll Interval', options({ pollInterval: mixed(0.1, 1) })],
	['Callback URL', options({ callbackUrl: mixed('example', '') })],
	['Split Text Longer Than', options({ splitLongerThan: mixed(-1, 0) })],
	['Max Paid Requests', options({ maxPaidPerExecution: mixed(-1, 0) })],
	['Put Output File in Field', options({ subtitles: true, outputField: mixed('subtitles', 'a') })],
	...['get', 'wait', 'delete'].map((operation): [string, IDataObject] => [
		operation === 'wait' ? 'Task ID(s)' : 'Task ID',
		task(operation, mixed('../me', '7')),
	]),
	['Limit', { resource: 'voice', operation: 'getAll', limit: mixed(0, 1) }],
	['Prompt', boat({ prompt: mixed('', 'A boat') })],
	['Number of Videos', boat({ numberOfVideos: mixed(0, 1) })],
	['Number of Videos', boat({ numberOfVideos: mixed(5, 4) })],
	['Aspect Ratio', boat({ aspectRatio: mixed('4:3', '16:9') })],
	['Idle Timeout', boat(options({ idleTimeout: mixed('x', 9) }))],
])('%s (%j): field and item are named, nothing is sent for any item', async (field, changes) => {
	const parameters = { ...speech('Fine.'), ...changes };
	const result = await run(parameters, { items: [{ n: 0 }, { n: 1 }, { n: 0 }] });
	const { message, name } = bad(result);
	expect(message).toContain(`'${field}'`);
	expect(message).toMatch(/^Row 2: /);
	expect(name).toBe('NodeOperationError');
	expect(sim.requests).toEqual([]);
});

const PDF = { data: 'AAAA', mimeType: 'application/pdf' };
const images = { operation: 'framesToVideo', binaryPropertyName: 'data' };
const sent = 'Nothing was sent or charged in this run of the node.';
test.each<[string, IDataObject, number, string, string]>([
	['a fixed value', { modelId: 'x' }, 3, 'labs_v3 in all 3 rows (the first is "x")', sent],
	[
		'an expression',
		options({ speed: mixed(1, 9) }),
		3,
		'in 2 of 3 rows: 1 and 3 (the first is 9)',
		sent,
	],
	[
		'other values',
		options({ speed: '={{ $itemIndex * 9 }}' }),
		3,
		'in all 3 rows (the first is 0)',
		sent,
	],
	['a file', boat(images), 2, 'is not an image but application/pdf in all 2 rows', sent],
	['a missing file', boat({ ...images, binaryPropertyName: 'x' }), 2, 'all 2 rows', sent],
	['an operation', { operation: 'sing' }, 2, "'speech' in all 2 rows", sent],
	['an expression of n8n', { text: '={{ $("Nobody").item.json.t }}' }, 2, '', ''],
])('a fault of several rows is told once: %s', async (_, changes, count, end, remedy) => {
	const input = Array.from({ length: count }, (_, n) => ({
		json: { n: n % 2 },
		binary: { data: PDF },
	}));
	const { message, description, itemIndex } = bad(
		await run({ ...speech('Hi.'), ...changes }, { input }),
	);
	expect(message).not.toMatch(/Row \d|\[item/);
	expect(message.endsWith(end)).toBe(true);
	expect(description).toContain(remedy);
	expect([itemIndex, sim.requests]).toEqual([undefined, []]);
});

test('a fault of the credential has no row, because all rows have the same credential', async () => {
	const setting = { items: [{}, {}], credential: { baseUrl: '' } };
	expect(bad(await run(speech('Hi.'), setting)).message).toBe("'Base URL' is empty");
	const items = [{ u: 'x' }, { u: sim.baseUrl }, { u: 'x' }];
	const some = { items, credential: { baseUrl: '={{ $json.u }}' } };
	expect(bad(await run(speech('Hi.'), some)).message).toMatch(
		/^'Base URL' .* in 2 of 3 rows: 1 and 3$/,
	);
	expect(sim.requests).toEqual([]);
});

test('rows with the same fault are counted, those with another are not', async () => {
	const items = [{ t: '' }, { t: ' ' }, { t: 'Fine.', speed: 9 }, { t: 'Fine.' }];
	const { message } = bad(
		await run(speech('={{ $json.t }}', { speed: '={{ $json.speed ?? 1 }}' }), { items }),
	);
	expect(message).toBe("'Text' is empty in 2 of 4 rows: 1 and 2");
});

test('numbers and switches that an expression gives as text count as such', async () => {
	const settings = { speed: '={{ "1.2" }}', stability: 0, useSpeakerBoost: '={{ "false" }}' };
	good(await run(speech('={{ 42 }}', settings)));
	const { body } = requests('POST', '/v1/labs/task')[0]!;
	expect(body).toMatchObject({ input: '42', speed: 1.2, stability: 0, use_speaker_boost: false });
});

test('half an emoji, control characters and parts without anything to see are not sent', async () => {
	const text =
		'One\u0000 sentence \ud83d. Another one here.\n\n\u200b\u200b\u200b\u200b\u200b\u200b\u200b\u200b';
	good(await run(speech('={{ $json.t }}', { splitLongerThan: 20 }), { items: [{ t: text }] }));
	const sent = requests('POST', '/v1/labs/task').map(({ body }) => body.input as string);
	expect(sent.sort()).toEqual(['Another one here.', 'One sentence \ufffd.']);
});

test.each([['a text'], [7], [['a', null]], [{ a: null, b: 'x', c: { id: 1 } }], [null]])(
	'a column may have the name _files, which n8n gives to the files of an item: %j',
	async (_files) => {
		const items = [{ t: 'One.', _files }];
		onFile(answer(410));
		const failed = await run(speech('={{ $json.t }}'), { items });
		good(await run(speech('={{ $json.t }}'), { items, retryOf: failed.run }));
		expect(posts()).toBe(1);
		const frames = boat({ operation: 'framesToVideo', binaryPropertyName: 'b' });
		expect(bad(await run(frames, { items })).message).toMatch(/has no binary field 'b' .*none/);
	},
);

test.each([[null], ['iVBORw0KGgo='], [{}]])(
	'text is converted although the item has a field that only looks like a file: %j',
	async (value) => {
		good(await run(speech('Hi.'), { input: [{ json: {}, binary: { data: value as never } }] }));
	},
);

test.each([[CONTINUE], [ERROR_OUTPUT]])(
	'an item without json, as some nodes output it, is processed like any other: %j',
	async (settings) => {
		const input = [{ binary: { data: PDF } } as unknown as INodeExecutionData];
		const result = await run(node(speech('Hi.'), settings), { input });
		expect(good(result)).toHaveLength(1);
		onCreate(answer(400));
		const failed = await run(node(speech('Hi.'), settings), { input });
		const [regular, errors] = failed.task(NODE)!.data!.main!;
		expect((errors ?? regular)![0]!.json.error).toMatch(/rejected the request/);
	},
);

test('an aspect ratio may be said as a person says it', async () => {
	const items = ['16:9', ' 9:16', 'Landscape', 'PORTRAIT'].map((ratio) => ({ ratio }));
	good(await run(boat({ aspectRatio: '={{ $json.ratio }}', download: false }), { items }));
	const [wide, tall] = ['VIDEO_ASPECT_RATIO_LANDSCAPE', 'VIDEO_ASPECT_RATIO_PORTRAIT'];
	const sent = requests('POST', '/v1/video/').map(({ body }) => body.aspect_ratio);
	expect(sent.sort()).toEqual([wide, wide, tall, tall]);
});

test('an operation that does not exist is named, and nothing is sent', async () => {
	const parameters = { ...speech('Fine.'), operation: 'sing' };
	const { message, description } = bad(await run(parameters));
	expect(message).toMatch(/^'Operation' is 'sing', which does not exist for 'speech'/);
	expect(description).toContain('Nothing was sent or charged');
	expect(sim.requests).toEqual([]);
});

test('an expression that fails in one row fails that row only, if the run may continue', async () => {
	const text = "={{ $json.t ?? $('Nowhere').first().json.t }}";
	const items = [{ t: 'Fine.' }, {}];
	const [first, second] = out(await run(node(speech(text), CONTINUE), { items }));
	expect(first!.json).toMatchObject({ input: 'Fine.', status: 'completed' });
	expect(second!.json).toEqual({
		error: "Referenced node doesn't exist",
		error_kind: 'other',
	});
	expect(requests('POST', '/')).toHaveLength(1);
});

test.each<[string, Partial<INode>]>([
	['no credentials', { credentials: undefined }],
	['credentials of other types only', { credentials: {} }],
])('a node with %s says once where to select one', async (_, changes) => {
	const result = await run(node(speech('Hi.'), changes), { items: [{}, {}] });
	expect(bad(result).all).toMatch(
		/^'Credential' is empty: select one in this field of the node .*Nothing was sent or charged/,
	);
	const output = out(await run(node(speech('Hi.'), { ...changes, ...CONTINUE })));
	expect(output[0]!.json.error_kind).toBe('input');
});

/* What of a credential is put right, and what refused: test/unit/credential.test.ts. */

test('what is put right in a credential reaches the service', async () => {
	const apiToken = ` bearer  ${sim.token} \n`;
	const [baseUrl, webSocketUrl] = [` ${sim.baseUrl}/v1/ `, `${sim.baseUrl}/ws/`];
	const result = await run(speech('Hi.'), { credential: { apiToken, baseUrl, webSocketUrl } });
	good(result);
	expect(sim.requests.map(({ status }) => status)).toEqual([101, 200, 200, 200]);
	expect(saved(result.run)).not.toContain(sim.token);
});

test.each([
	['API Token', { apiToken: 'abcdefgh\r\nX-Evil: 1' }, /line break/],
	['Base URL', { baseUrl: 'http://media.example.com' }, /Allow Unencrypted Connection/],
	['WebSocket URL', { webSocketUrl: 'ws://media.example.com' }, /Allow Unencrypted Connection/],
])('%s %j is refused before anything is sent', async (field, credential, words) => {
	const result = await run(speech('Hi.'), { credential });
	const { message, name } = bad(result);
	expect(message).toContain(`'${field}'`);
	expect(message).toMatch(words);
	expect(name).toBe('NodeOperationError');
	const setting = { items: [{}, {}], credential };
	const output = out(await run(node(speech('Hi.'), CONTINUE), setting));
	expect(output.map(({ json }) => json.error)).toEqual([message, message]);
	expect(sim.requests).toEqual([]);
	expect(saved(result.run)).not.toContain('abcdefgh');
});
