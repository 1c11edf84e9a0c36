import { thisProcess } from '../account';
import { CUT } from './coerce';

/** Takes the API token out of whatever is shown, kept or logged. */

/** Which characters stand percent-encoded in an address: everybody does it a little differently. */
const ENCODED = [
	/[^\w.~!*'()-]/g,
	/[^\w.~-]/g,
	/[^\w.*-]/g,
	/[^\w.~!*'();,/?:@&=+$#-]/g,
	/["#<>?^`{}]/g,
];

const percent = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`;

/**
 * The token within a text in base64: which letters stand for it depends on how many bytes before it
 * are left over from whole groups of three. The letters that it shares with its neighbours are left out.
 */
function inBase64(apiToken: string): string[] {
	const forms = [0, 1, 2].map((before) => {
		const bytes = Buffer.from(' '.repeat(before) + apiToken, 'utf8');
		const letters = bytes.toString('base64').replace(/=+$/, '');
		const end = bytes.length % 3 === 0 ? letters.length : letters.length - 1;
		return letters.slice(before === 0 ? 0 : before + 1, end);
	});
	return [...forms, ...forms.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))];
}

/** The token as it may stand in a text: as it is, in JSON, or in an address. */
function formsOf(apiToken: string): string[] {
	const inJson = JSON.stringify(apiToken).slice(1, -1);
	const inAddress = ENCODED.flatMap((characters) => [
		apiToken.replace(characters, percent),
		apiToken.replace(characters, (character) => percent(character).toUpperCase()),
	]);
	// An address may stand in another one.
	const twice = inAddress.map((form) => form.replaceAll('%', '%25'));
	return [...new Set([apiToken, inJson, inJson.replaceAll('/', '\\/'), ...inAddress, ...twice])];
}

/**
 * Of a text that was cut inside the token, so much of it is still blanked out; a regular expression
 * takes no form of any length.
 */
const leastOf = (form: string) =>
	Math.max(Math.min(form.length, 12), Math.min(500, Math.ceil(form.length / 2)));

/** So many characters before the mark of a cut may be the rest of a token. */
const LEAST_REST = 3;
const MARK_OF_CUT = new RegExp(CUT, 'g');

const sameText = (text: string, form: string, length: number) =>
	text.toLowerCase() === form.slice(0, length).toLowerCase();

const inExpression = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

interface Expressions {
	apiToken: string;
	readable: string[];
	forms: Array<{ form: string; least: number; start: RegExp }>;
}

/** The last token's: many texts in a row are looked through for one and the same. */
class Compiled {
	last: Expressions | undefined;
}

/** What to look for in texts. Compiled once for many texts in a row: an item has a dozen. */
function expressionsOf(apiToken: string): Expressions {
	const compiled = thisProcess.part(Compiled, () => new Compiled());
	if (compiled.last?.apiToken === apiToken) return compiled.last;
	const readable = formsOf(apiToken);
	const forms = [...new Set([...readable, ...inBase64(apiToken)])].map((form) => {
		const least = leastOf(form);
		return { form, least, start: new RegExp(inExpression(form.slice(0, least)), 'gi') };
	});
	return (compiled.last = { apiToken, readable, forms });
}

const sameLetter = (one = '', other = '') => one.toLowerCase() === other.toLowerCase();

/**
 * `value` with every occurrence of the token in its texts blanked out, also where it stands encoded,
 * in letters of another case, or cut off. Values that hold none come back as they are.
 */
export function withoutToken<T>(value: T, apiToken: string): T {
	// Shorter strings would also be found in ordinary words.
	if (apiToken.length < 6) return value;
	const { readable, forms } = expressionsOf(apiToken);
	// What is left and what is put in must not make a token again.
	const mask = apiToken.includes('*') ? '•••••' : '*****';
	const holds = (part: unknown): boolean =>
		typeof part === 'string'
			? cleanText(part) !== part
			: typeof part === 'object' && part !== null && Object.entries(part).flat().some(holds);
	return holds(value) ? (clean(value) as T) : value;

	function cleanText(text: string): string {
		const found = forms.filter(({ start }) => text.search(start) >= 0);
		const left = found.reduce(blankOut, text);
		return left.includes(CUT) ? readable.reduce(blankOutRest, left) : left;
	}

	function clean(part: unknown): unknown {
		if (typeof part === 'string') return cleanText(part);
		if (Array.isArray(part)) return part.map(clean);
		if (typeof part !== 'object' || part === null) return part;
		return Object.fromEntries(
			Object.entries(part).map(([key, entry]) => [clean(key) as string, clean(entry)]),
		);
	}

	function blankOut(text: string, { form, least, start }: Expressions['forms'][number]): string {
		let out = '';
		let at = 0;
		for (const { index } of text.matchAll(start)) {
			if (index < at) continue;
			let length = least;
			while (length < form.length && sameLetter(text[index + length], form[length])) length++;
			out += text.slice(at, index) + mask;
			at = index + length;
		}
		return out + text.slice(at);
	}

	/** Right before the mark of a cut even a few characters are the rest of a token. */
	function blankOutRest(text: string, form: string): string {
		let out = '';
		let at = 0;
		for (const { index } of text.matchAll(MARK_OF_CUT)) {
			let length = Math.min(form.length, index - at);
			while (length >= LEAST_REST && !sameText(text.slice(index - length, index), form, length)) {
				length--;
			}
			out += length >= LEAST_REST ? text.slice(at, index - length) + mask : text.slice(at, index);
			at = index;
		}
		return out + text.slice(at);
	}
}
