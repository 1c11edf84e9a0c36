import { execFile } from 'node:child_process';
import {
	cpSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/*
 * Two operations that the package does not have, one with a stream and one without, are added to a copy of it
 * as CONTRIBUTING says, and nothing else. They keep all that test/engine/paidOperations.test.ts asks of every
 * operation that is charged. `WITHOUT=<part of a step's path>` leaves steps out: then it has to be red.
 */

const root = join(__dirname, '../..');
const COPIED = [
	'credentials',
	'demo',
	'docs/contract.md',
	'icons',
	'nodes',
	'simulator',
	'tools/eventually.mts',
];
const TESTS = ['engine', 'faults', 'service', 'environment.js', 'equality.js', 'sequencer.js'].map(
	(name) => `test/${name}`,
);
const SETTINGS = ['gulpfile.js', 'jest.config.js', 'package.json', 'tsconfig.json'];

type Replacement = [old: string | RegExp, replacement: string];

/** What is done to a file: it is edited, or made from another one. */
interface Step {
	file: string;
	madeFrom?: string;
	replacements: Replacement[];
}

/** Puts a line in front of another one. */
const before = (line: string, added: string): Replacement => [line, `${added}\n${line}`];
const RESOURCES = 'nodes/MediaGeneration/resources';
const SCHEMAS = 'nodes/MediaGeneration/__schema__/v1.0.0';
const CONTRACT = 'nodes/shared/contract.ts';

const RECITE = `import { RECITE } from '../../../shared/contract';
import {
	downloadField,
	maxPaidField,
	optionsField,
	promptField,
} from '../../../shared/n8n/descriptions';
import type { Operation } from '../../run/operation';
import { collectOptionFields, readCollectOptions } from './collectTask';
import { collectAsOne } from './parts';

const versePromptField = promptField('e.g. A poem about rain', 'Describe the poem to recite');

export const recite: Operation = {
	option: {
		name: 'Recite',
		value: 'recite',
		description: 'Recite a poem',
		action: 'Recite poem',
	},
	fields: [versePromptField, downloadField, optionsField(...collectOptionFields, maxPaidField)],
	prepare(item) {
		const requestBody = { input: item.parameters.text(versePromptField) };
		const options = readCollectOptions(item.parameters);
		return {
			callKeys: [''],
			run: async ([entry]) =>
				await collectAsOne(item, options, [{ operation: RECITE, requestBody, entry: entry! }]),
		};
	},
};
`;

const TRIALS: Record<string, Step[]> = {
	'An operation with a stream': [
		{
			file: CONTRACT,
			replacements: [
				before(
					'\timage: {\n\t\tmimeType',
					`	emblem: {
		mimeType: 'audio/mpeg',
		timeoutSeconds: 1200,
		usualDuration: 'a minute or two',
		plural: 'emblems',
		inputs: 'prompt',
	},`,
				),
				before(
					'} as const satisfies Record<string, PaidOperation<',
					`	emblem: {
		resource: 'emblem',
		operation: 'create',
		kind: 'emblem',
		path: '/api/emblem',
	},`,
				),
			],
		},
		{
			file: `${RESOURCES}/emblem/create.ts`,
			madeFrom: `${RESOURCES}/image/create.ts`,
			replacements: [
				[/createImage/g, 'createEmblem'],
				[/GENERATIONS\.image/g, 'GENERATIONS.emblem'],
				["generationFields('image'", "generationFields('emblem'"],
				[/an image from/g, 'an emblem from'],
				[/Generate image/g, 'Generate emblem'],
				[/A lighthouse at dawn, watercolor/, 'A fox beside a tower'],
				['Describe the image: subject, style, mood', 'Describe the emblem: subject, style, mood'],
				['Text to Image', 'Text to Emblem'],
			],
		},
		{
			file: `${RESOURCES}/index.ts`,
			replacements: [
				before('import type { Operation }', "import { createEmblem } from './emblem/create';"),
				before(
					"\t{ name: 'Voice'",
					"\t{ name: 'Emblem', value: 'emblem', operations: [createEmblem] },",
				),
			],
		},
		{
			file: `${SCHEMAS}/emblem/create.json`,
			madeFrom: `${SCHEMAS}/image/create.json`,
			replacements: [['"file_url": {', '"audio_url": { "type": "string" }, "file_url": {']],
		},
		{
			file: 'simulator/generation.mts',
			replacements: [
				['{ video: 10_000,', '{ video: 10_000, emblem: 6_000,'],
				// The service has other words for its kind and for the key of its file.
				[
					'\treturn {\n\t\t...fields,',
					`	if (type === 'emblem')
		return { ...fields, status, type: 'audio', ...(file_url && { audio_url: file_url }) };
	return {\n\t\t...fields,`,
				],
			],
		},
		{
			file: 'simulator/files.mts',
			replacements: [
				before("\t\timage: ['png'", "\t\temblem: ['wav', 'audio/wav', () => speechWav(id, id)],"),
			],
		},
		{
			file: 'simulator/video.mts',
			replacements: [
				before(
					"\t\tcase 'GET /v1/video/histories'",
					"\t\tcase 'POST /api/emblem':\n\t\t\treturn generate(sim, call, 'emblem');",
				),
			],
		},
	],
	'An operation with a speech task': [
		{
			file: CONTRACT,
			replacements: [
				before(
					'/** The operations that create speech tasks. */',
					`export const RECITE = {
	resource: 'speech',
	operation: 'recite',
	kind: 'speech',
	path: '/v1/labs/recite',
} as const;`,
				),
				['PAID_SPEECH_OPERATIONS = [SPEAK]', 'PAID_SPEECH_OPERATIONS = [SPEAK, RECITE]'],
			],
		},
		{
			file: `${RESOURCES}/speech/recite.ts`,
			madeFrom: `${RESOURCES}/speech/speak.ts`,
			// It is the simplest one: without voices, splitting and Wait for Completion.
			replacements: [[/^[^]*$/, RECITE]],
		},
		{
			file: `${RESOURCES}/index.ts`,
			replacements: [
				before('import { speak }', "import { recite } from './speech/recite';"),
				['operations: [speak,', 'operations: [speak, recite,'],
			],
		},
		{
			file: `${SCHEMAS}/speech/recite.json`,
			madeFrom: `${SCHEMAS}/speech/speak.json`,
			replacements: [[/\t\t"part":[^]*?(?=\t\t"error":)/, '']],
		},
		{
			file: 'simulator/speech-order.mts',
			replacements: [
				before(
					'\tconst { input, voice_id: voiceId,',
					`	if (call.path === '/v1/labs/recite')
		body = { voice_id: sim.voices[0]!.voice_id, model_id: MODELS[0], ...body };`,
				),
			],
		},
		{
			file: 'simulator/api.mts',
			replacements: [
				before(
					"\tif (call.method === 'GET' && call.path === '/v1/labs/voices'",
					"\tif (call.method === 'POST' && call.path === '/v1/labs/recite') return createTask(sim, call);",
				),
			],
		},
	],
};

const steps = Object.entries(TRIALS).flatMap(([heading, all]) =>
	all.map((step) => ({ heading, ...step })),
);

test('the guide names every file that a trial touches', () => {
	const guide = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
	const unnamed = steps.filter(({ heading, file }) => {
		const section = guide.split(`\n#### ${heading}\n`)[1]?.split(/\n#+ /)[0] ?? '';
		// The names that the guide makes up are those of the trials.
		const named = [...section.matchAll(/`([\w./-]+\.\w+)`/g)].map(([, name]) => name!);
		return !named.some((name) => file.endsWith(name));
	});
	expect(unnamed.map(({ heading, file }) => `${heading}: ${file}`)).toEqual([]);
});

function follow(project: string, { file, madeFrom = file, replacements }: Step): void {
	const target = join(project, file);
	let text = readFileSync(join(project, madeFrom), 'utf8');
	for (const [old, replacement] of replacements) {
		const changed = text.replace(old, () => replacement);
		if (changed === text) throw new Error(`${madeFrom} has no ${old}`);
		text = changed;
	}
	mkdirSync(dirname(target), { recursive: true });
	writeFileSync(target, text);
}

test('operations that are added as the guide says keep what every paid operation promises', async () => {
	const project = mkdtempSync(join(tmpdir(), 'media-generation-trial-'));
	const { WITHOUT, JEST_WORKER_ID: _, ...env } = process.env;
	const run = async (...command: string[]) =>
		await promisify(execFile)(process.execPath, command, {
			...{ cwd: project, env },
			// A step that is left out may leave a test waiting for ever.
			timeout: 200_000,
		});
	try {
		for (const path of [...COPIED, ...TESTS, ...SETTINGS]) {
			cpSync(join(root, path), join(project, path), { recursive: true });
		}
		symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'));
		for (const step of steps) {
			if (!WITHOUT || !step.file.includes(WITHOUT)) follow(project, step);
		}
		await run('node_modules/gulp/bin/gulp.js', 'build');
		const only = [
			'--runInBand',
			'--testNamePattern',
			'the table names all|emblem: create|speech: recite',
		];
		const file = 'test/engine/paidOperations.test.ts';
		const { stderr } = await run('node_modules/jest/bin/jest.js', file, ...only);
		expect(stderr).toMatch(/^Tests: .* 34 passed/m);
	} catch (error) {
		const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
		throw new Error(`${String(error)}\n${stdout}\n${stderr}`);
	} finally {
		rmSync(project, { recursive: true });
	}
}, 240_000);
