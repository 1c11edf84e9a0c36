import type { ILoadOptionsFunctions, INodeListSearchResult } from 'n8n-workflow';
import { readCredential, type Credential } from '../../shared/http/credential';
import { withDeadline } from '../../shared/async/deadline';
import type { ServiceRecord } from '../../shared/contract';
import { toNoResponse } from '../../shared/failure';
import { CREDENTIAL_TYPE } from '../../shared/http/request';
import { toNodeError } from '../../shared/n8n/nodeErrors';
import { allVoices, isLastPage, MAX_PAGE_SIZE, MIN_PAGE_SIZE } from '../../shared/api/pagination';
import { asText, asWebUrl, isRecord } from '../../shared/parsing/values';
import { Api } from '../../shared/api/api';
import { languageCodes, languageNames, normalize } from './languages';

/** Time limit of one search in the editor's list of voices, in ms. */
const SEARCH_TIMEOUT_MS = 60_000;

/** The maximum number of voices that this node reads to filter them itself. */
const MAX_FILTERED_VOICES = 1000;

/** Fields that describe a voice. */
const TRAITS = ['accent', 'gender', 'age', 'category', 'description'];

/** Reads a field of a voice. Some deployments put it on the voice, others under `labels`. */
function traitOf(voice: ServiceRecord, trait: string): string | undefined {
	return asText(voice[trait]) ?? (isRecord(voice.labels) ? asText(voice.labels[trait]) : undefined);
}

/** The use cases of a voice, normalized. */
const useCasesOf = ({ use_cases, labels }: ServiceRecord): string[] =>
	[use_cases, isRecord(labels) && labels.use_cases]
		.flat()
		.map((useCase) => normalize(asText(useCase) ?? ''));

const voiceIdOf = (voice: ServiceRecord) => asText(voice.voice_id) ?? asText(voice.id);

/** The traits of a voice, in words, its language first. */
function traitsOf(voice: ServiceRecord): string[] {
	const language = traitOf(voice, 'language') ?? '';
	const [accent, ...others] = TRAITS.map((trait) => traitOf(voice, trait)?.replaceAll('_', ' '));
	// Services send the accent in lower case, such as "american".
	const capitalized = accent?.replace(/(?<!\S)\p{Ll}/gu, (letter) => letter.toUpperCase());
	return [languageNames(language)[0] ?? language, capitalized, ...others].filter(
		(trait) => !!trait,
	) as string[];
}

/**
 * Makes an entry for the editor's list of voices; undefined if the voice has no id. A use case is shown if one of
 * `patterns` matches it.
 */
export function voiceEntry(voice: ServiceRecord, patterns: RegExp[]) {
	const value = voiceIdOf(voice);
	if (value === undefined) return undefined;
	const shortTraits = traitsOf(voice).filter((trait) => trait.length <= 30);
	const matchingUseCases = useCasesOf(voice).filter((use) =>
		patterns.some((pattern) => pattern.test(`| ${use} `)),
	);
	const traits = [[...new Set(shortTraits.slice(0, 4))].join(', '), matchingUseCases[0]]
		.filter(Boolean)
		.join(' · ');
	const name = asText(voice.name) ?? value;
	const preview = asWebUrl(asText(voice.preview_url) ?? '');
	return {
		name: traits ? `${name} (${traits})` : name,
		value,
		...(preview ? { url: preview.href } : {}),
	};
}

/** Groups of words that mean the same. They match whole words only: "male" must not find "female". */
const SYNONYMS = ['male|man|men', 'female|woman|women', 'child|children|kid|kids'];

/** Endings that are cut off if at least four letters remain, so that "narration" finds "narrator". */
const WORD_ENDINGS = /(?<=.{4})(?:at)?(?:ion(?:al|s)?|ors?|ers?|ing|ive|e?ments?|ed|ies|y|s)$/;

/**
 * Makes one pattern for each word of a filter. `voiceMatches` tests them against a text with two halves: the name and
 * id of a voice, and after ` | ` the words that describe it.
 */
export function searchPatterns(filter: string): RegExp[] {
	const codes = languageCodes();
	return normalize(filter)
		.split(' ')
		.filter(Boolean)
		.map((word) => {
			const synonyms = SYNONYMS.find((group) => group.split('|').includes(word));
			if (synonyms) return new RegExp(` (?:${synonyms}) `);
			const language = languageNames(codes.get(word) ?? word).map(normalize);
			const wordStartPattern = [word.replace(WORD_ENDINGS, ''), ...language].join('|');
			return new RegExp(`^[^|]*${word}| (?:${wordStartPattern})`);
		});
}

/** True if all patterns (from `searchPatterns`) match the voice. */
export function voiceMatches(voice: ServiceRecord, patterns: RegExp[]): boolean {
	const language = traitOf(voice, 'language') ?? '';
	const descriptions = [
		...traitsOf(voice),
		...useCasesOf(voice),
		...languageNames(language),
		language,
	];
	const nameAndId = normalize([asText(voice.name), voiceIdOf(voice)].join(' '));
	const words = ` ${nameAndId} | ${normalize(descriptions.join(' '))} `;
	return patterns.every((pattern) => pattern.test(words));
}

/** Where the next page of the editor's list of voices begins. */
interface PageCursor {
	/** The number of the next page, from 0. */
	page: number;
	/** How many voices the pages before this one have in total. */
	voicesBefore: number;
	/** The id of the first voice on the previous page. */
	previousFirstId?: string;
}

/**
 * n8n calls this for the list of the Voice field (§4.4): resolves with a page of voices that match `filter`. Throws an
 * n8n error.
 */
export async function searchVoices(
	this: ILoadOptionsFunctions,
	filter = '',
	paginationToken = '{"page":0,"voicesBefore":0}',
): Promise<INodeListSearchResult> {
	let credential: Credential | undefined;
	try {
		credential = readCredential(await this.getCredentials(CREDENTIAL_TYPE));
		const api = new Api(this, credential);
		const cursor = JSON.parse(paginationToken) as PageCursor;
		const searchPage = async (signal: AbortSignal) =>
			await findVoices(api, filter.trim(), cursor, signal);
		return await withDeadline(SEARCH_TIMEOUT_MS, undefined, searchPage);
	} catch (error) {
		throw toNodeError(toNoResponse(error), { node: this.getNode(), redact: credential?.redact });
	}
}

async function findVoices(
	api: Api,
	search: string,
	{ page, voicesBefore, previousFirstId }: PageCursor,
	signal: AbortSignal,
): Promise<INodeListSearchResult> {
	const { redact } = api.credential;
	// The editor shows the entries, and saves the chosen one unencrypted, so they are redacted.
	const patterns = searchPatterns(search);
	const entriesOf = (records: ServiceRecord[]) =>
		redact
			.value(records)
			.filter((voice) => voiceMatches(voice, patterns))
			.map((voice) => voiceEntry(voice, patterns))
			.filter((entry) => entry !== undefined);
	const query = { page, page_size: MAX_PAGE_SIZE, ...(search ? { search } : {}) };
	const voicePage = await api.listVoices(query, signal);
	const firstVoiceId = redact.value(voiceIdOf(voicePage.items[0] ?? {}));
	// Some services ignore `page` and send all voices each time, so this page begins like the one before.
	if (page > 0 && firstVoiceId === previousFirstId) return { results: [] };
	const results = entriesOf(voicePage.items);
	// If the first page is empty or has a voice that does not match, the service searches in another way than this
	// node. Then this node reads the voices without a search and filters them itself.
	const isFilteredByService =
		search === '' || (results.length > 0 && results.length === voicePage.items.length);
	if (!isFilteredByService && page === 0) {
		return { results: entriesOf(await allVoices(api, {}, MAX_FILTERED_VOICES, signal)) };
	}
	const next: PageCursor = {
		page: page + 1,
		voicesBefore: voicesBefore + voicePage.items.length,
		previousFirstId: firstVoiceId,
	};
	const isLast = isLastPage(voicePage, next.voicesBefore, MAX_PAGE_SIZE, MIN_PAGE_SIZE);
	return isLast ? { results } : { results, paginationToken: JSON.stringify(next) };
}
