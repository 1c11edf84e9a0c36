import type {
	ILoadOptionsFunctions,
	INodeListSearchItems,
	INodeListSearchResult,
} from 'n8n-workflow';
import { readCredential, type Credential } from '../../shared/http/credential';
import { withDeadline } from '../../shared/async/deadline';
import type { ServiceRecord } from '../../shared/contract';
import { CREDENTIAL_TYPE } from '../../shared/http/request';
import { toNodeError } from '../../shared/n8n/nodeErrors';
import { allVoices, isLastPage, MAX_PAGE_SIZE } from '../../shared/api/pagination';
import { asText, asWebUrl, isRecord } from '../../shared/parsing/coerce';
import { Api } from '../../shared/api/api';

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

/** The English name of a language code such as `en` or `pt-BR`; undefined for any other text. */
function languageName(text: string): string | undefined {
	const code = text.replace('_', '-');
	if (!/^[a-z]{2,3}(?:-(?:[a-z]{2}|\d{3}))?$/i.test(code)) return undefined;
	return new Intl.DisplayNames('en', { type: 'language', fallback: 'none' }).of(code);
}

const idOf = (voice: ServiceRecord) => asText(voice.voice_id) ?? asText(voice.id);

/** What describes a voice, its language by its name, in words. */
function traitsOf(voice: ServiceRecord): string[] {
	const language = traitOf(voice, 'language') ?? '';
	const traits = TRAITS.map((trait) => traitOf(voice, trait)?.replaceAll('_', ' '));
	return [languageName(language) ?? language, ...traits].filter((trait) => !!trait) as string[];
}

/** One entry of the picker, with the address at which the voice can be heard; undefined without an id. */
export function voiceEntry(voice: ServiceRecord): INodeListSearchItems | undefined {
	const value = idOf(voice);
	if (value === undefined) return undefined;
	const short = traitsOf(voice).filter((trait) => trait.length <= 30);
	const traits = [...new Set(short)].slice(0, 4).join(', ');
	const name = asText(voice.name) ?? value;
	const preview = asWebUrl(asText(voice.preview_url) ?? '');
	return {
		name: traits ? `${name} (${traits})` : name,
		value,
		...(preview ? { url: preview.href } : {}),
	};
}

/** In lower case, with a space before each word, whatever joins them. */
const words = (text = '') => ` ${text.toLowerCase().replace(/[\s_,-]+/g, ' ')}`;

/**
 * True when every word of the filter appears in the voice's name or id, or begins a word of its traits
 * ("male" is not "female"). A language counts by its code and by its name.
 */
export function matches(voice: ServiceRecord, filter: string): boolean {
	const uses = [voice.use_cases].flat().map(asText);
	const known = [...traitsOf(voice), ...uses, traitOf(voice, 'language')].map(words).join('');
	const named = [asText(voice.name), idOf(voice)].map(words).join('');
	return words(filter)
		.trim()
		.split(' ')
		.every((word) => {
			const begun = [word, languageName(word)].filter((text) => text !== undefined).map(words);
			return named.includes(word) || begun.some((text) => known.includes(text));
		});
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
	const entriesOf = (records: ServiceRecord[]) =>
		redact
			.value(records)
			.filter((voice) => search === '' || matches(voice, search))
			.map(voiceEntry)
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
	const isLast = isLastPage(found, next.seen, MAX_PAGE_SIZE);
	return isLast ? { results } : { results, paginationToken: JSON.stringify(next) };
}
