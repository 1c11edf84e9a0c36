import type { ILoadOptionsFunctions, INodeListSearchResult } from 'n8n-workflow';
import { readCredential, type Credential } from '../../shared/http/credential';
import { withDeadline } from '../../shared/async/deadline';
import type { ServiceRecord } from '../../shared/contract';
import { CREDENTIAL_TYPE } from '../../shared/http/request';
import { toNodeError } from '../../shared/n8n/nodeErrors';
import { allVoices, isLastPage, MAX_PAGE_SIZE, MIN_PAGE_SIZE } from '../../shared/api/pagination';
import { asText, asWebUrl, isRecord } from '../../shared/parsing/values';
import { Api } from '../../shared/api/api';
import { languageCodes, languageNames, plain } from './languages';

/** Longest the picker may take, in ms. */
const SEARCH_MS = 60_000;

/** How many voices are looked through where the service's own search is of no use. */
const MAX_SEARCHED = 1000;

/** What voices are described by, beside their language. */
const TRAITS = ['accent', 'gender', 'age', 'category', 'description'];

/** A voice's trait, which deployments keep flat or under `labels`, null or padded. */
function traitOf(voice: ServiceRecord, trait: string): string | undefined {
	return asText(voice[trait]) ?? (isRecord(voice.labels) ? asText(voice.labels[trait]) : undefined);
}

/** What a voice is good for, in words. */
const usesOf = ({ use_cases, labels }: ServiceRecord): string[] =>
	[use_cases, isRecord(labels) && labels.use_cases].flat().map((use) => plain(asText(use) ?? ''));

const idOf = (voice: ServiceRecord) => asText(voice.voice_id) ?? asText(voice.id);

/** What describes a voice, its language by its English name, in words. */
function traitsOf(voice: ServiceRecord): string[] {
	const language = traitOf(voice, 'language') ?? '';
	const traits = TRAITS.map((trait) => traitOf(voice, trait)?.replaceAll('_', ' '));
	return [languageNames(language)[0] ?? language, ...traits].filter((trait) => !!trait) as string[];
}

/** One entry of the picker, with where to hear it and the use that was looked for; none without an id. */
export function voiceEntry(voice: ServiceRecord, patterns: RegExp[]) {
	const value = idOf(voice);
	if (value === undefined) return undefined;
	const short = traitsOf(voice).filter((trait) => trait.length <= 30);
	const found = usesOf(voice).filter((use) => patterns.some((one) => one.test(`| ${use} `)));
	const traits = [...new Set([...found.slice(0, 1), ...short.slice(0, 4)])].join(', ');
	const name = asText(voice.name) ?? value;
	const preview = asWebUrl(asText(voice.preview_url) ?? '');
	return {
		name: traits ? `${name} (${traits})` : name,
		value,
		...(preview ? { url: preview.href } : {}),
	};
}

/** Words for the same: as whole words, since "male" is not "female", nor "man" Mandarin. */
const ALIKE = ['male|man|men', 'female|woman|women', 'child|children|kid|kids'];

/** What a word may end in after its stem: a narrator is found by "narration". */
const ENDINGS = /(?<=.{4})(?:at)?(?:ion(?:al|s)?|ors?|ers?|ing|ive|e?ments?|ed|ies|y|s)$/;

/** What each word of a filter looks for in the `words` of a voice. */
export function lookedFor(filter: string): RegExp[] {
	const codes = languageCodes();
	return plain(filter)
		.split(' ')
		.filter(Boolean)
		.map((word) => {
			const alike = ALIKE.find((group) => group.split('|').includes(word));
			if (alike) return new RegExp(` (?:${alike}) `);
			const language = languageNames(codes.get(word) ?? word).map(plain);
			const wordStart = [word.replace(ENDINGS, ''), ...language].join('|');
			return new RegExp(`^[^|]*${word}| (?:${wordStart})`);
		});
}

/** True when all of it appears in the voice's name or id, or begins a word of what describes it. */
export function matches(voice: ServiceRecord, patterns: RegExp[]): boolean {
	const language = traitOf(voice, 'language') ?? '';
	const known = [...traitsOf(voice), ...usesOf(voice), ...languageNames(language), language];
	const named = plain([asText(voice.name), idOf(voice)].join(' '));
	const words = ` ${named} | ${plain(known.join(' '))} `;
	return patterns.every((one) => one.test(words));
}

/** Where the picker goes on: at which page, after how many voices, and how the last page began. */
interface Place {
	page: number;
	seen: number;
	first?: string;
}

/** The list mode of the voice field (§4.4): filters and pages whatever shape the list has. */
export async function searchVoices(
	this: ILoadOptionsFunctions,
	filter = '',
	paginationToken = '{"page":0,"seen":0}',
): Promise<INodeListSearchResult> {
	let credential: Credential | undefined;
	try {
		credential = readCredential(await this.getCredentials(CREDENTIAL_TYPE));
		const api = new Api(this, credential);
		const place = JSON.parse(paginationToken) as Place;
		const find = async (signal: AbortSignal) => await findVoices(api, filter.trim(), place, signal);
		return await withDeadline(SEARCH_MS, undefined, find);
	} catch (error) {
		throw toNodeError(error, { node: this.getNode(), redact: credential?.redact });
	}
}

async function findVoices(
	api: Api,
	search: string,
	{ page, seen, first }: Place,
	signal: AbortSignal,
): Promise<INodeListSearchResult> {
	const { redact } = api.credential;
	// The editor shows what it is given, and saves what is picked in clear.
	const patterns = lookedFor(search);
	const entriesOf = (records: ServiceRecord[]) =>
		redact
			.value(records)
			.filter((voice) => matches(voice, patterns))
			.map((voice) => voiceEntry(voice, patterns))
			.filter((entry) => entry !== undefined);
	const query = { page, page_size: MAX_PAGE_SIZE, ...(search ? { search } : {}) };
	const found = await api.listVoices(query, signal);
	const foundFirst = redact.value(idOf(found.items[0] ?? {}));
	// Some services have no pages, and send all voices each time.
	if (page > 0 && foundFirst === first) return { results: [] };
	const results = entriesOf(found.items);
	// The service has no search, or one that does not look into all that is shown of a voice.
	const isSearched = search === '' || (results.length > 0 && results.length === found.items.length);
	if (!isSearched && page === 0) {
		return { results: entriesOf(await allVoices(api, {}, MAX_SEARCHED, signal)) };
	}
	const next: Place = { page: page + 1, seen: seen + found.items.length, first: foundFirst };
	const isLast = isLastPage(found, next.seen, MAX_PAGE_SIZE, MIN_PAGE_SIZE);
	return isLast ? { results } : { results, paginationToken: JSON.stringify(next) };
}
