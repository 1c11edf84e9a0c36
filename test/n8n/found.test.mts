import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaOf } from '../service/schemas.mts';
import { ACTION, catalog, ofN8n, TRIGGER } from './catalog.mts';

/*
 * Whether people and builders find the nodes, decided by n8n's own searches. In the builder's, each word
 * of a phrase counts for itself, and of equals the one that n8n loaded first wins: its own. A blank before
 * a word in the codex files is worth half a point, so `" video"` is not lost among them.
 */

const { synthesizeNodeTypeDef } = ofN8n('./dist/modules/mcp-registry/synthesize-type-def.js');
const { NodeTypeParser } = ofN8n('@n8n/ai-utilities/node-catalog');
const { sublimeSearch } = ofN8n('@n8n/utils/search/sublime-search');

/** What people type in n8n's node panel who want the action node. */
const IN_PANEL =
	`text to video; image to video; text to image; generate image; generate video; speak;
	narration; voiceover; sound; audio; tts; podcast; video; image; voice over; text-to-speech; read aloud;
	mp3; subtitles; make a video; video from image; animate image; avatar; history; quota; wait for task;
	task completed; new video; audiobook; ai voice; create image; speech; credits; picture;
	text to speech; speech ready; speech completed; speech failed; audio ready; video ready; video created;
	image created; video finished; convert text to speech; image sequence to video`.split(/;\s+/);

/** What they tell a builder. */
const WANTED =
	`text to speech; audiobook; subtitles; voice over; voiceover; narration; read aloud; podcast;
	tts; speech synthesis; generate audio; text to mp3; ai voice; speak; captions for a talk; narrate article;
	text to video; image to video; generate video; create video; make a video; animate photo; ai video;
	talking avatar; video from images; text to image; generate image; create image; ai image; picture;
	illustration; image from prompt`.split(/;\s+/);

/** What people type who want to be told. */
const EVENTS =
	`video finished; new video; when audio is ready; speech completed; task failed; new audio;
	when a video is made; image created; notify when speech is done; generation finished; when speech is ready`.split(
		/;\s+/,
	);

test("n8n's builder search shows the action node, mostly first", () => {
	const places = placesOf(ACTION, WANTED);
	const missed = WANTED.filter((_, at) => places[at] === undefined);
	assert.deepEqual(missed, []);
	assert.ok(places.filter((place) => place === 1).length >= 20, String(places));
});

test("n8n's builder search shows the trigger among the first three for events", () => {
	const places = placesOf(TRIGGER, EVENTS);
	const missed = EVENTS.filter((_, at) => !(places[at]! <= 3));
	assert.deepEqual(missed, []);
});

test("n8n's node panel finds what is asked for", () => {
	// The panel shows both nodes as one card, with the words of the action node.
	const cards = catalog
		.filter(({ name, hidden }) => name !== TRIGGER && !hidden)
		.map((properties) => ({ properties }));
	const missed = IN_PANEL.filter((words) => {
		const found = sublimeSearch(words, cards) as Array<{ item: (typeof cards)[number] }>;
		return !found.slice(0, 4).some(({ item }) => item.properties.name === ACTION);
	});
	assert.deepEqual(missed, []);
});

/** The definition that a builder reads of a node, type by type. */
const definitionOf = (id: string): string[] =>
	synthesizeNodeTypeDef(catalog.find(({ name }) => name === id)).split(/(?=^export )/m);

test('a builder reads what comes out of each operation, without mark-up', () => {
	for (const definition of [...definitionOf(ACTION), ...definitionOf(TRIGGER)]) {
		assert.doesNotMatch(definition, /&lt;|&gt;/);
	}
	const operations = definitionOf(ACTION).filter((type) => type.includes('  operation: '));
	const { properties } = catalog.find(({ name }) => name === ACTION)!;
	const fields = properties.filter(({ name }) => name === 'operation');
	assert.equal(operations.length, fields.flatMap(({ options = [] }) => options).length);
	for (const type of operations) {
		const [, resource, operation] = /resource: '(\w+)';\s+operation: '(\w+)'/.exec(type)!;
		const schema = schemaOf('MediaGeneration', resource!, operation!)!;
		const [, fields] = /@output .*\{ json: \{ (.*?) \}/.exec(type)!;
		for (const field of fields!.split(', ')) {
			const [, name] = /^(\w+)(?:\?|:|$)/.exec(field)!;
			assert.ok(schema.properties![name!], `${name} is not in the schema of ${operation}`);
		}
	}
	assert.match(definitionOf(ACTION).join(''), /Required\.[^/]*\*\/\s+voiceId/);
});

/** From 1; undefined for what is not among the five that a builder is shown. */
function placesOf(id: string, phrases: string[]): Array<number | undefined> {
	const parser = new NodeTypeParser(catalog);
	return phrases.map((words) => {
		const found: Array<{ id: string }> = parser.searchNodeTypes(words, 5);
		return found.findIndex((node) => node.id === id) + 1 || undefined;
	});
}
