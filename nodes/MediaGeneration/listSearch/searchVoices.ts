import type {
	ILoadOptionsFunctions,
	INodeListSearchItems,
	INodeListSearchResult,
} from 'n8n-workflow';
import { readCredential, type Credential } from '../../shared/http/credential';
import { startDeadline } from '../../shared/async/deadline';
import type { ServiceRecord } from '../../shared/contract';
import { CREDENTIAL_TYPE } from '../../shared/http/request';
import { toNodeError } from '../../shared/n8n/nodeErrors';
import { isLastPage, LARGEST_PAGE } from '../../shared/api/pagination';
import { asText, isRecord } from '../../shared/parsing/coerce';
import { Api } from '../../shared/api/api';

/** How long the picker may take for one page, in ms. */
const SEARCH_MS = 60_000;

const TRAITS = ['language', 'accent', 'gender', 'age', 'category', 'description'];

/** A voice's traits. Deployments keep them flat or under `labels`, null or padded. */
function traitsOf(voice: ServiceRecord): string[] {
	const labels = isRecord(voice.labels) ? voice.labels : {};
	const traits = TRAITS.map((trait) => asText(voice[trait]) ?? asText(labels[trait]));
	return [...new Set(traits.filter((trait) => trait !== undefined))];
}

const idOf = (voice: ServiceRecord) => asText(voice.voice_id) ?? asText(voice.id);

/** One entry of the picker; undefined for a record without an id. */
export function voiceEntry(voice: ServiceRecord): INodeListSearchItems | undefined {
	const value = idOf(voice);
	if (value === undefined) return undefined;
	const traits = traitsOf(voice)
		.filter((trait) => trait.length <= 30)
		.slice(0, 4);
	const name = asText(voice.name) ?? value;
	return { name: traits.length > 0 ? `${name} (${traits.join(', ')})` : name, value };
}

/** True when every word of the filter stands in the voice's name, traits or id. */
export function matches(voice: ServiceRecord, filter: string): boolean {
	const useCases = Array.isArray(voice.use_cases) ? voice.use_cases : [voice.use_cases];
	const text = [voice.name, voice.voice_id, voice.id, ...traitsOf(voice), ...useCases]
		.map((part) => asText(part) ?? '')
		.join(' ')
		.toLowerCase();
	return filter
		.toLowerCase()
		.split(/\s+/)
		.every((word) => text.includes(word));
}

/**
 * Where the picker continues: the page, how many voices came before it, and the first of the last
 * page.
 */
interface Place {
	page: number;
	seen: number;
	first?: string;
}

const placeOf = (paginationToken?: string): Place =>
	paginationToken === undefined ? { page: 0, seen: 0 } : (JSON.parse(paginationToken) as Place);

/** The list mode of the voice field (§4.4). Filters and pages whatever shape the list has. */
export async function searchVoices(
	this: ILoadOptionsFunctions,
	filter = '',
	paginationToken?: string,
): Promise<INodeListSearchResult> {
	const limit = startDeadline(SEARCH_MS);
	let credential: Credential | undefined;
	try {
		credential = readCredential(await this.getCredentials(CREDENTIAL_TYPE));
		const api = new Api(this, credential);
		const { page, seen, first } = placeOf(paginationToken);
		const search = filter.trim();
		const query = { page, page_size: LARGEST_PAGE, ...(search ? { search } : {}) };
		const found = await api.listVoices(query, limit.signal);
		// The editor shows these, and saves the one that is picked in clear text.
		const voices = credential.redact.value(found.items);
		const foundFirst = idOf(voices[0] ?? {});
		// Some deployments ignore the page number and always return everything.
		if (page > 0 && foundFirst === first) return { results: [] };
		const next: Place = { page: page + 1, seen: seen + found.items.length, first: foundFirst };
		const results = voices
			.filter((voice) => search === '' || matches(voice, search))
			.map(voiceEntry)
			.filter((entry) => entry !== undefined);
		const isLast = isLastPage(found, next.seen, LARGEST_PAGE);
		return isLast ? { results } : { results, paginationToken: JSON.stringify(next) };
	} catch (error) {
		throw toNodeError(error, { node: this.getNode(), redact: credential?.redact });
	} finally {
		limit.stop();
	}
}
