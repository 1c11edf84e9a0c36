/** Takes the API token out of whatever is shown, kept or logged. */
export interface Redactor {
	/** The text with the token blanked out, even where it is encoded or in letters of another case. */
	text(said: string): string;
	/** The same for every text in a value, keys included. One without the token comes back as it is. */
	value<T>(value: T): T;
}

/**
 * A character of the token as it may stand in a text: in JSON, in an address, or in one within another.
 * Backslashes in a row, which JSON doubles, count as one.
 */
function written(character: string): string {
	if (/\w/.test(character)) return character;
	const { length } = character;
	if (character.startsWith('\\')) return `(?:%(?:25)?5c|\\\\u005c|\\\\){${length},${length * 4}}`;
	const code = character.charCodeAt(0).toString(16).padStart(2, '0');
	return `(?:%(?:25)?${code}|\\\\u00${code}|\\\\?\\${character})`;
}

/** The same in base64, which has two letters of its own in addresses. */
const writtenInBase64 = (letter: string) =>
	/[+/]/.test(letter) ? `(?:[-_]|${written(letter)})` : letter;

/**
 * The token within a text in base64, which encodes three bytes at a time: its letters depend on where in
 * such a group it begins. Those that also depend on its neighbours are left out.
 */
const inBase64 = (apiToken: string) =>
	[0, 1, 2].map((before) => {
		const bytes = Buffer.from(' '.repeat(before) + apiToken);
		const [from, to] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)];
		return Array.from(bytes.toString('base64').slice(from, to), writtenInBase64);
	});

/** Made once for each credential. A token of fewer than six characters is left: words may contain it. */
export function redactor(apiToken: string): Redactor {
	if (apiToken.length < 6) return { text: (said) => said, value: (value) => value };
	const forms = [apiToken.match(/\\+|./g)!.map(written), ...inBase64(apiToken)].map(
		(characters) => {
			// The service may have cut it off, so this much is enough; nor can an expression be of any length.
			const length = Math.max(12, Math.min(500, Math.ceil(characters.length / 2)));
			return { head: characters.slice(0, length).join(''), rest: characters.slice(length) };
		},
	);
	const heads = new RegExp(forms.map(({ head }) => `(${head})`).join('|'), 'gi');
	// The mask must not make another token of what is left around it.
	const mask = apiToken.includes('*') ? '•••••' : '*****';

	function text(said: string): string {
		let out = '';
		for (let at = 0; ;) {
			heads.lastIndex = at;
			const found = heads.exec(said);
			if (!found) return out + said.slice(at);
			out += said.slice(at, found.index) + mask;
			at = heads.lastIndex;
			// Each head is a group: the one that matched tells the form.
			for (const character of forms[found.indexOf(found[0], 1) - 1]!.rest) {
				const next = new RegExp(character, 'iy');
				next.lastIndex = at;
				if (!next.test(said)) break;
				at = next.lastIndex;
			}
		}
	}

	function value<T>(part: T): T {
		if (typeof part === 'string') return text(part) as T;
		if (typeof part !== 'object' || part === null) return part;
		const before = Object.entries(part) as Array<[string, unknown]>;
		const after = before.map(([key, entry]) => [text(key), value(entry)] as const);
		const isSame = after.every(
			([key, entry], at) => key === before[at]![0] && Object.is(entry, before[at]![1]),
		);
		if (isSame) return part;
		return (Array.isArray(part) ? after.map(([, entry]) => entry) : Object.fromEntries(after)) as T;
	}

	return { text, value };
}
