import { readFileSync } from 'node:fs';
import { NodeHelpers, type INodeProperties, type INodePropertyOptions } from 'n8n-workflow';
import { MediaGenerationApi } from '../../credentials/MediaGenerationApi.credentials';
import { MediaGeneration } from '../../nodes/MediaGeneration/MediaGeneration.node';
import { MEDIA } from '../../nodes/shared/contract';
import { limitField, optionsField } from '../../nodes/shared/n8n/descriptions';
import { BANNED } from './terms';
import codex from '../../nodes/MediaGeneration/MediaGeneration.node.json';
import triggerCodex from '../../nodes/MediaGenerationTrigger/MediaGenerationTrigger.node.json';
import { MediaGenerationTrigger } from '../../nodes/MediaGenerationTrigger/MediaGenerationTrigger.node';

/* What a person reads in the editor, as n8n's UX guidelines want it. */

const { description: action } = new MediaGeneration();
const { description: trigger } = new MediaGenerationTrigger();

/** Every field, entry of a menu and mode, however deep. */
const entriesOf = (fields: object[]): INodeProperties[] =>
	(fields as INodeProperties[]).flatMap((field) => [
		field,
		...entriesOf([...(field.options ?? []), ...(field.modes ?? [])]),
	]);
const entries = entriesOf([...action.properties, ...trigger.properties]);

test('action names have no articles', () => {
	const names = entries.flatMap((entry) => ('action' in entry ? [String(entry.action)] : []));
	expect(names).toHaveLength(operations.length);
	expect(names.filter((name) => /\b(?:a|an|the)\b/i.test(name))).toEqual([]);
});

test('hints take at most 120 characters, and are not the same for speech, video and lists', () => {
	const panel = action.hints!.map(({ message }) => message);
	const hints = [...panel, ...entries.flatMap(({ hint }) => hint ?? [])];
	expect(hints.filter((hint) => hint.length > 120)).toEqual([]);
	const said = ['speak', 'wait', 'textToVideo', 'getAll'].map((operation) => {
		const shown = action.hints!.filter((hint) => hint.displayCondition!.includes(`:${operation}"`));
		return shown.map(({ message }) => message).join();
	});
	expect(new Set(said).size).toBe(4);
	const charged = panel.filter((hint) => hint.includes('charges all items'));
	const durations = Object.values(MEDIA).map(({ usualDuration }) => usualDuration);
	expect(new Set(charged)).toHaveProperty('size', new Set(durations).size);
	// In the panel of a model's tool nobody waits before a browser.
	expect(action.usableAsTool).toEqual({ replacements: { hints: [] } });
});

/** Beside those of messages: the words that no description holds, each with what to say instead. */
const TERMS: typeof BANNED = [
	...BANNED,
	[/\b(?:an?|one|each|every|this) speech\b(?! task)/i, 'audio, speech or speech task'],
	[/\blines?\b(?! breaks?)/i, 'branch of a workflow, row of a table'],
	[/(?<!media )\bgenerations?\b/, 'request, or the video or image that it results in'],
	[/\b(?:entry|entries)\b/i, 'video or image in the history'],
	[/\bmak(?:e|es|ing)\b|\bmade\b/i, 'convert (speech), generate (video, image)'],
	[/\blook(?:s|ed|ing)? (?:it |them )?up\b|\blookups?\b/i, 'check'],
	[/\b(?:fetch(?:es|ed)?|pick(?:s|ed)? up)\b/i, 'get, collect or download'],
	[/\b(?:start(?:s|ed)? anew|another attempt)\b/i, 'retry, or run again'],
	[/\b(?:spend|spent|costs?)\b/i, 'charged'],
	[/\bbad items?\b/i, 'failed row'],
	[/\b(?:in|out)put fields?\b/i, 'input binary field, output binary field'],
	[/\bblanks?\b/i, 'spaces'],
	[/\bnotic(?:e|es|ed)\b|\bpass(?:es|ed)? over\b/i, 'detect, ignore'],
	[/\b(?:synthesi|capitali|organi)s|behaviour|favourite/i, 'US spelling'],
];

/** All texts of a description; codes and values of parameters have no blanks. */
const textsOf = (value: unknown): string[] => {
	if (typeof value === 'string') return /\s/.test(value) ? [value] : [];
	return typeof value === 'object' && value ? Object.values(value).flatMap(textsOf) : [];
};
const credential = new MediaGenerationApi();

test.each(TERMS)('no text says %s: %s', (banned) => {
	const texts = [action, trigger, { ...credential }].flatMap(textsOf);
	expect(texts.length).toBeGreaterThan(100);
	expect(texts.filter((text) => banned.test(text))).toEqual([]);
});

/** Each operation, as n8n's field, its panel and its canvas name it. */
const operations = entries
	.filter(({ name }) => name === 'operation')
	.flatMap(({ options, displayOptions }) =>
		(options as INodePropertyOptions[]).map((option) => {
			return { ...option, resource: displayOptions!.show!.resource![0] as string };
		}),
	);
const wordsIn = (text: string) => text.toLowerCase().match(/\w+/g)!;
/** What n8n makes of the `=` in a subtitle. */
const shownBy = (subtitle: string, parameters: object) => {
	const [, code] = /^=\{\{ (.*) \}\}$/.exec(subtitle)!;
	const show = new Function('$parameter', `return ${code}`) as (fields: object) => string;
	return show(parameters);
};

test.each(operations)('$resource: $name is called so everywhere', ({ name, value, ...more }) => {
	const { action: title, description, resource } = more;
	const said = wordsIn(title!).map((word) => word.replace(/s$/, ''));
	for (const word of wordsIn(name))
		if (word !== 'to') expect(said).toContain(word.replace(/s$/, ''));
	const subtitle = shownBy(action.subtitle!, { resource, operation: value });
	expect(subtitle).toMatch(new RegExp(`(?:^|: )${name}$`));
	expect(subtitle.length).toBeLessThanOrEqual(26);
	expect(description).toBeTruthy();
});

test('every resource says what it is for', () => {
	const { options } = entries.find(({ name }) => name === 'resource')!;
	for (const { description } of options as INodePropertyOptions[]) expect(description).toBeTruthy();
});

test("what the nodes call things is found with n8n's search, and so is what people call them", () => {
	const aliases = codex.alias.map((alias) => alias.toLowerCase());
	const ofTrigger = triggerCodex.alias.map((alias) => alias.toLowerCase());
	/** As n8n's panel does: the letters in this order. The trigger shares the card of the action node. */
	const isFound = (typed: string, among = aliases) => {
		const pattern = new RegExp([...typed.toLowerCase().replace(/ /g, '')].join('.*'));
		return among.some((alias) => pattern.test(alias));
	};
	const events = trigger.properties[0]!.options as INodePropertyOptions[];
	const shown = [...operations, ...events].flatMap(({ name, action }) => [name, action ?? name]);
	const typed = ['speech ready', 'speech done', 'audio ready', 'video ready', 'video finished'];
	const ours = shown.filter((each) => !/^(?:Get|Get Many|Delete)\b/.test(each));
	expect([...ours, ...typed, 'image created'].filter((each) => !isFound(each))).toEqual([]);
	expect(events.filter(({ name }) => !isFound(name, ofTrigger))).toEqual([]);
});

test('options are in alphabetical order, whatever order they are given in', () => {
	const given = ['Seed', 'Put', 'Idle'].map((displayName) => ({ ...limitField, displayName }));
	const names = optionsField(...given).options!.map(
		(one) => 'displayName' in one && one.displayName,
	);
	expect(names).toEqual(['Idle', 'Put', 'Seed']);
});

/** The fields with this name. The page says of the filters of voices only what there is. */
const choicesOf = ({ properties }: typeof action, name: string) =>
	properties
		.filter(
			(field) => field.name === name && !field.displayOptions?.show?.resource?.includes('voice'),
		)
		.flatMap(({ options }) =>
			options!.map((one) => ('displayName' in one ? one.displayName : one.name)),
		);

test.each([
	['../CHANGELOG.md', 'operation', choicesOf(action, 'operation')],
	['operations.md', 'option', choicesOf(action, 'options')],
	['trigger.md', 'event', choicesOf(trigger, 'events')],
])('docs/%s names each %s', (page, _, names) => {
	const text = readFileSync(`docs/${page}`, 'utf8');
	expect(names.length).toBeGreaterThan(0);
	// The settings of the voice share one row.
	expect(names.filter((name) => !text.includes(name.replace('Voice: ', '')))).toEqual([]);
});

test('docs/operations.md has a row for each operation', () => {
	const [, table] = readFileSync('docs/operations.md', 'utf8').split('\n## Operations\n');
	let group = '';
	const rows = [...table!.matchAll(/^\| (\w*) *\| \*\*([^*]+)\*\* .*\|.*\|$/gm)].map((cells) => {
		group = cells[1] || group;
		return `${group.toLowerCase()}: ${cells[2]}`;
	});
	const names = operations.map(({ resource, name }) => `${resource}: ${name}`);
	expect(names.filter((name) => !rows.includes(name))).toEqual([]);
});

test.each(Object.entries(MEDIA))(
	'docs/operations.md names files and Timeout of %s',
	(kind, row) => {
		const text = readFileSync('docs/operations.md', 'utf8');
		expect(text).toContain(`\`${kind}-<`);
		expect(text).toMatch(new RegExp(`default: .*\\b${row.timeoutSeconds} for (?:an? )?${kind}\\b`));
	},
);

test('nothing speaks of errors, problems or failures', () => {
	const { properties } = new MediaGenerationApi();
	const { hints, triggerPanel, activationMessage } = { ...action, ...trigger };
	const texts = JSON.stringify([entries, properties, hints, triggerPanel, activationMessage]);
	expect(texts.match(/.{30}(?:error|problem|failure).{9}/gi)).toBeNull();
});

test.each([
	[['generated'], ['Download File', 'Options', 'Check Interval', 'Put Output File in Field']],
	[['completed'], ['Task IDs', 'Download File', 'Options', 'Put Output File in Field']],
	[['failed'], ['Task IDs', 'Options', 'Put Output File in Field']],
	[['progress', 'generated'], trigger.properties.slice(1).flatMap((field) => entriesOf([field]))],
])('the trigger on %j shows what concerns that', (events, expected) => {
	const values = { events, options: {} };
	const shown = entriesOf(trigger.properties.slice(1)).filter((field) =>
		NodeHelpers.displayParameter(values, field, { typeVersion: 1 }, trigger, values),
	);
	const names = expected.map((each) => (typeof each === 'string' ? each : each.displayName));
	expect(shown.map(({ displayName }) => displayName)).toEqual(names);
});

// n8n saves no parameter that has its default: with another default, a saved workflow would do something else.
test('the defaults are those of saved workflows', () => {
	const defaults = [...action.properties, ...trigger.properties].map((field): [string, unknown] => {
		const { resource = [], operation = [] } = field.displayOptions?.show ?? {};
		return [[...resource, ...operation, field.name].join(' '), field.default];
	});
	expect(Object.fromEntries(defaults)).toMatchObject({
		resource: 'speech',
		'speech operation': 'speak',
		'video operation': 'textToVideo',
		'image operation': 'create',
		'voice operation': 'getAll',
		'history operation': 'getAll',
		'account operation': 'get',
		'speech speak modelId': 'labs_multilingual_v2',
		'speech speak waitForCompletion': true,
		'speech speak download': true,
		'speech wait download': true,
		'speech get download': false,
		'video textToVideo aspectRatio': 'VIDEO_ASPECT_RATIO_LANDSCAPE',
		'video textToVideo numberOfVideos': 1,
		'video textToVideo download': true,
		'video ingredientsToVideo binaryPropertyName': 'data',
		'video framesToVideo binaryPropertyName': 'data',
		'image create download': true,
		'voice getAll returnAll': false,
		'history getAll returnAll': false,
		events: ['completed'],
	});
});

test('the trigger brings files along unless told otherwise, for the node that stores them', () => {
	const field = trigger.properties.find(({ name }) => name === 'download');
	expect(field).toMatchObject({ displayName: 'Download File', default: true });
});

test('the trigger says on the canvas what it listens for', () => {
	const shown = (...events: string[]) => shownBy(trigger.subtitle!, { events });
	expect(shown('completed')).toBe('Speech Completed');
	expect(shown('generated', 'completed', 'failed')).toBe('Video or Image Created +2');
	expect(shown()).toBe('');
});
