import type { ILoadOptionsFunctions, INodeListSearchResult } from 'n8n-workflow';
import type { Credential } from '../../shared/http/credential';
import { withDeadline } from '../../shared/async/deadline';
import type { ServiceRecord } from '../../shared/contract';
import { toNoResponse } from '../../shared/failure';
import { readNodeCredential } from '../../shared/n8n/nodeCredential';
import { toNodeError } from '../../shared/n8n/nodeErrors';
import { asText, asWebUrl, isRecord } from '../../shared/parsing/values';
import { Api } from '../../shared/api/api';
import { languageCodesByName, languageNames, normalizeWords } from './languages';

/** Time limit of one search in the editor's list of voices, in ms. */
const SEARCH_TIMEOUT_MS = 60_000;

/** The maximum number of voices in the list. The others are found by a search. */
const MAX_LISTED_VOICES = 1000;

/** The fields of a voice that describe it, apart from its language. */
const TRAITS = ['accent', 'gender', 'age', 'category', 'description'];

/** Returns a trait of a voice. Some deployments have it in the voice, others in its `labels`. */
function traitOf(voice: ServiceRecord, trait: string): string | undefined {
	return asText(voice[trait]) ?? (isRecord(voice.labels) ? asText(voice.labels[trait]) : undefined);
}

/** Returns the use cases of a voice, normalized. */
const useCasesOf = ({ use_cases, labels }: ServiceRecord): string[] =>
	[use_cases, isRecord(labels) && labels.use_cases]
		.flat()
		.map((useCase) => normalizeWords(asText(useCase) ?? ''));

const voiceIdOf = (voice: ServiceRecord) => asText(voice.voice_id) ?? asText(voice.id);

/** Returns the words that describe a voice, its language first. */
function traitsOf(voice: ServiceRecord): string[] {
	const language = traitOf(voice, 'language') ?? '';
	const [accent, ...others] = TRAITS.map((trait) => traitOf(voice, trait)?.replaceAll('_', ' '));
	// Services send the accent in lower case, such as “american”.
	const capitalized = accent?.replace(/(?<!\S)\p{Ll}/gu, (letter) => letter.toUpperCase());
	return [languageNames(language)[0] ?? language, capitalized, ...others].filter(
		(trait) => !!trait,
	) as string[];
}

/**
 * Makes a voice's entry for the editor's list, with a use case that one of `patterns` matches. Returns undefined if the
 * voice has no id.
 */
export function voiceEntry(voice: ServiceRecord, patterns: RegExp[]) {
	const value = voiceIdOf(voice);
	if (value === undefined) return undefined;
	const shortTraits = traitsOf(voice).filter((trait) => trait.length <= 30);
	const matchingUseCases = useCasesOf(voice).filter((useCase) =>
		patterns.some((pattern) => pattern.test(`| ${useCase} `)),
	);
	const traits = [[...new Set(shortTraits.slice(0, 4))].join(', '), matchingUseCases[0]]
		.filter(Boolean)
		.join(' · ');
	const name = asText(voice.name) ?? value;
	const previewUrl = asWebUrl(asText(voice.preview_url) ?? '');
	return {
		name: traits ? `${name} (${traits})` : name,
		value,
		...(previewUrl ? { url: previewUrl.href } : {}),
	};
}

/** Groups of words that mean the same. They match whole words only, because “male” must not find “female”. */
const SYNONYMS = ['male|man|men', 'female|woman|women', 'child|children|kid|kids'];

/** Word endings that are cut off if at least four letters remain, so that “narration” finds “narrator”. */
const WORD_ENDINGS = /(?<=.{4})(?:at)?(?:ion(?:al|s)?|ors?|ers?|ing|ive|e?ments?|ed|ies|y|s)$/;

/**
 * Makes one pattern for each word of the search text `filter`. `voiceMatches` tests the patterns against a text that
 * has the name and the id of a voice, then ` | `, then the words that describe the voice.
 */
export function searchPatterns(filter: string): RegExp[] {
	const codes = languageCodesByName();
	return normalizeWords(filter)
		.split(' ')
		.filter(Boolean)
		.map((word) => {
			const synonyms = SYNONYMS.find((group) => group.split('|').includes(word));
			if (synonyms) return new RegExp(` (?:${synonyms}) `);
			const languageWords = languageNames(codes.get(word) ?? word).map(normalizeWords);
			const wordStartPattern = [word.replace(WORD_ENDINGS, ''), ...languageWords].join('|');
			return new RegExp(`^[^|]*${word}| (?:${wordStartPattern})`);
		});
}

/** True if all `patterns`, from `searchPatterns`, match the voice. */
export function voiceMatches(voice: ServiceRecord, patterns: RegExp[]): boolean {
	const language = traitOf(voice, 'language') ?? '';
	const descriptions = [traitsOf(voice), useCasesOf(voice), languageNames(language), language];
	const nameAndId = normalizeWords([asText(voice.name), voiceIdOf(voice)].join(' '));
	const searchableText = ` ${nameAndId} | ${normalizeWords(descriptions.flat().join(' '))} `;
	return patterns.every((pattern) => pattern.test(searchableText));
}

/**
 * n8n calls this to fill the list of the field Voice (§4.4). Resolves with the voices that match `filter`, at most
 * MAX_LISTED_VOICES. Throws an n8n error.
 */
export async function searchVoices(
	this: ILoadOptionsFunctions,
	filter = '',
): Promise<INodeListSearchResult> {
	let credential: Credential | undefined;
	try {
		credential = await readNodeCredential(this);
		const api = new Api(this, credential);
		const search = async (signal: AbortSignal) => await findVoices(api, filter.trim(), signal);
		const { signal } = new AbortController();
		return { results: await withDeadline(SEARCH_TIMEOUT_MS, signal, search) };
	} catch (error) {
		throw toNodeError(toNoResponse(error), { node: this.getNode(), redact: credential?.redact });
	}
}

/** Resolves with the entries of the voices that match `search`. Throws a Failure. */
async function findVoices(api: Api, search: string, signal: AbortSignal) {
	const patterns = searchPatterns(search);
	const findIn = async (query: Record<string, string>) => {
		const voices = await api.listVoices(query, MAX_LISTED_VOICES, signal);
		// They are redacted, because the editor shows the entries, and saves the chosen one unencrypted.
		return api.credential.redact
			.value(voices)
			.filter((voice) => voiceMatches(voice, patterns))
			.map((voice) => voiceEntry(voice, patterns))
			.filter((entry) => entry !== undefined);
	};
	if (search === '') return await findIn({});
	const found = await findIn({ search });
	// The service may search in another way than this node, for example in names only.
	return found.length > 0 ? found : await findIn({});
}
