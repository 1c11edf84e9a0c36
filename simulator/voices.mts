import { createHash } from 'node:crypto';
import { storePreview } from './files.mts';
import { randomFrom, seedOf } from './media/random.mts';
import { pageOf, type Call, type Reply } from './replies.mts';
import type { Simulator } from './state.mts';

type Voice = ReturnType<typeof makeVoice>;

const NAMES =
	'Ada Amir Anton Aria Bela Boris Bruno Clara Dario Dina Elena Emil Farah Felix Greta Hana Hugo Ida Ines Ivan Jonas Julia Kai Lena Leo Lina Luca Maja Marco Mara Milan Mira Nadia Nils Nora Omar Otto Pia Rosa Sami Tara Theo Uma Vera Yuki Zoe'.split(
		' ',
	);
const LANGUAGES =
	'en-american en-british de-standard es-peninsular fr-parisian it-standard ja-standard pl-standard pt-brazilian vi-northern'.split(
		' ',
	);
const GENDERS = ['female', 'male', 'neutral'];
const AGES = ['young', 'middle_aged', 'old'];
const CATEGORIES = ['premade', 'professional', 'high_quality', 'generated'];
const USE_CASES = ['narration', 'conversational', 'advertisement', 'social_media', 'characters'];
const CHARACTERS = ['Warm', 'Bright', 'Calm', 'Deep', 'Crisp'];

/** Creates 230 voices, always the same. Some traits are null or have extra spaces, as real deployments send them. */
export function makeVoices(): Voice[] {
	return CHARACTERS.flatMap((character) => NAMES.map((name) => makeVoice(name, character)));
}

/** Creates a voice whose traits depend only on its name. */
function makeVoice(name: string, character: string) {
	const random = randomFrom(seedOf(`${name} ${character}`));
	const pick = (list: readonly string[]) => list[Math.floor(random() * list.length)]!;
	const withOddities = (value: string) => {
		const chance = random();
		return chance < 0.05 ? null : chance < 0.1 ? ` ${value}  ` : value;
	};
	const [language = '', accent = ''] = pick(LANGUAGES).split('-');
	const useCase = pick(USE_CASES);
	return {
		voice_id: createHash('sha256').update(`${name} ${character}`).digest('hex').slice(0, 20),
		name: random() < 0.04 ? `  ${name} - ${character} ` : `${name} - ${character}`,
		language: withOddities(language),
		gender: withOddities(pick(GENDERS)),
		age: withOddities(pick(AGES)),
		accent: withOddities(accent),
		category: withOddities(pick(CATEGORIES)),
		use_cases: [useCase],
		description: withOddities(`${character} voice for ${useCase.replace('_', ' ')}`),
	};
}

/**
 * GET /v1/labs/voices (§4.4; docs/contract.md, “Lists and records”). Its query may have `page` (from 0), `page_size`
 * (up to 100), `search` (for words in name and description), a filter for each trait, and `sort=name`.
 */
export function listVoices(sim: Simulator, call: Call): Reply {
	const matchingVoices = sim.voices.filter((voice) => matches(voice, call.query));
	if (call.query.get('sort') === 'name') {
		matchingVoices.sort((a, b) => a.name.trim().localeCompare(b.name.trim()));
	}
	const page = pageOf(sim, call, matchingVoices, 0);
	if ('status' in page) return page;
	const { items, ...paging } = page;
	const voices = items.map((voice) => toWireVoice(sim, voice));
	if (sim.dialect.voices === 'array') return { status: 200, body: voices };
	return { status: 200, body: { voices, total: matchingVoices.length, ...paging } };
}

/** True if a voice matches the search and the filters of a query. */
function matches(voice: Voice, query: URLSearchParams): boolean {
	const normalize = (value: string | null) => (value ?? '').trim().toLowerCase();
	const search = normalize(query.get('search'));
	if (search && !normalize(`${voice.name} ${voice.description ?? ''}`).includes(search))
		return false;
	for (const trait of ['language', 'gender', 'age', 'category'] as const) {
		const filter = normalize(query.get(trait));
		if (filter && normalize(voice[trait]) !== filter) return false;
	}
	const uses = normalize(query.get('use_cases')).split(',').filter(Boolean);
	return uses.length === 0 || uses.some((use) => voice.use_cases.includes(use.trim()));
}

/** Converts a voice to the JSON of the dialect, and stores its audio sample. */
function toWireVoice(sim: Simulator, voice: Voice): Record<string, unknown> {
	const { voice_id, name, category, use_cases, description, ...traits } = voice;
	const preview_url = storePreview(sim, voice_id, `Hello, my name is ${name.trim()}.`);
	const hasLabels = sim.dialect.voiceTraits === 'labels';
	return {
		voice_id,
		name,
		preview_url,
		category,
		description,
		...(hasLabels ? { labels: { ...traits, use_cases } } : { ...traits, use_cases }),
	};
}
