import type {
	ILoadOptionsFunctions,
	INodeListSearchItems,
	INodeListSearchResult,
} from 'n8n-workflow';
import { readAddress } from '../service/address';
import { startDeadline } from '../service/clock';
import type { ServiceRecord } from '../service/contract';
import { CREDENTIAL_TYPE } from '../service/http';
import { toNodeError } from '../service/nodeErrors';
import { LARGEST_PAGE } from '../service/paging';
import { asText, isRecord } from '../service/values';
import { Requests } from '../service/requests';

/** Longest the picker may take for one page, in seconds. */
const SEARCH_SECONDS = 60;

const TRAITS = ['language', 'accent', 'gender', 'age', 'category', 'description'];

/** A voice's traits, which deployments keep flat or under `labels`, null or padded. */
function traitsOf(voice: ServiceRecord): string[] {
	const labels = isRecord(voice.labels) ? voice.labels : {};
	const traits = TRAITS.map((trait) => asText(voice[trait]) ?? asText(labels[trait]));
	return [...new Set(traits.filter((trait) => trait !== undefined))];
}

/** One entry of the picker; undefined for a record without an id. */
export function voiceEntry(voice: ServiceRecord): INodeListSearchItems | undefined {
	const value = asText(voice.voice_id) ?? asText(voice.id);
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

/** The list mode of the voice field (§4.4): filters and pages whatever shape the list has. */
export async function searchVoices(
	this: ILoadOptionsFunctions,
	filter = '',
	paginationToken?: string,
): Promise<INodeListSearchResult> {
	const limit = startDeadline(SEARCH_SECONDS);
	let apiToken = '';
	try {
		const address = readAddress(await this.getCredentials(CREDENTIAL_TYPE));
		apiToken = address.apiToken;
		const requests = new Requests(this, address);
		const page = Number(paginationToken ?? 0);
		const search = filter.trim();
		const query = { page, page_size: LARGEST_PAGE, ...(search ? { search } : {}) };
		const found = await requests.voices(query, limit.signal);
		const size = found.pageSize !== undefined && found.pageSize > 0 ? found.pageSize : LARGEST_PAGE;
		const isLast =
			found.bare ||
			found.items.length < Math.min(size, LARGEST_PAGE) ||
			(found.total !== undefined && (page + 1) * size >= found.total);
		const results = found.items
			.filter((voice) => search === '' || matches(voice, search))
			.map(voiceEntry)
			.filter((entry) => entry !== undefined);
		return isLast ? { results } : { results, paginationToken: String(page + 1) };
	} catch (error) {
		throw toNodeError(error, { node: this.getNode(), apiToken });
	} finally {
		limit.stop();
	}
}
