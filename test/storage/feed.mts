import { execFileSync } from 'node:child_process';
import { programPath } from '../../tools/servers/serve.mts';

interface Episode {
	title: string;
	url: string;
	length: number;
	type: string;
}

/** What xmllint finds for an XPath expression. Throws what it says of a document that is not well-formed. */
const find = (xml: string, xpath: string): string =>
	execFileSync(programPath('xmllint'), ['--nonet', '--xpath', xpath, '-'], {
		input: xml,
		encoding: 'utf8',
	}).trim();

/** The episodes of a podcast's feed, as an XML parser sees them. */
export function episodesOf(xml: string): Episode[] {
	const count = Number(
		find(xml, 'count(/rss[@version="2.0"]/channel[title and link and description]/item)'),
	);
	return Array.from({ length: count }, (_, index) => {
		const item = `/rss/channel/item[${index + 1}]`;
		const text = (path: string) => find(xml, `string(${item}/${path})`);
		return {
			title: text('title'),
			url: text('enclosure/@url'),
			length: Number(text('enclosure/@length')),
			type: text('enclosure/@type'),
		};
	});
}
