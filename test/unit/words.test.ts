import { NodeHelpers, type INodeProperties } from 'n8n-workflow';
import { MediaGenerationApi } from '../../credentials/MediaGenerationApi.credentials';
import { MediaGeneration } from '../../nodes/MediaGeneration/MediaGeneration.node';
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
	expect(names).toHaveLength(11);
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
	expect(panel.filter((hint) => hint.endsWith('is charged; a retry is not.'))).toHaveLength(2);
});

test('nothing speaks of errors, problems or failures', () => {
	const { properties } = new MediaGenerationApi();
	const { hints, triggerPanel, activationMessage } = { ...action, ...trigger };
	const texts = JSON.stringify([entries, properties, hints, triggerPanel, activationMessage]);
	expect(texts.match(/.{30}(?:error|problem|failure).{9}/gi)).toBeNull();
});

test.each([
	[['generated'], ['Options', 'Check Interval', 'Download File', 'Put Output File in Field']],
	[['completed'], ['Task IDs', 'Options', 'Download File', 'Put Output File in Field']],
	[['progress', 'generated'], trigger.properties.slice(1).flatMap((field) => entriesOf([field]))],
])('the trigger on %j shows what concerns that', (events, expected) => {
	const values = { events, options: {} };
	const shown = entriesOf(trigger.properties.slice(1)).filter((field) =>
		NodeHelpers.displayParameter(values, field, { typeVersion: 1 }, trigger, values),
	);
	const names = expected.map((each) => (typeof each === 'string' ? each : each.displayName));
	expect(shown.map(({ displayName }) => displayName)).toEqual(names);
});

test('the trigger says on the canvas what it listens for', () => {
	const [, code] = /^=\{\{ (.*) \}\}$/.exec(trigger.subtitle!)!;
	const shown = new Function('$parameter', `return ${code}`) as (fields: object) => string;
	const events = ['completed', 'generated'];
	expect(shown({ events })).toBe('Task Completed, Video or Image Made');
});
