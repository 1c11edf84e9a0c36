/** Takes the API token out of whatever is shown, kept or logged. */
export interface Redactor {
	/** The text with the token blanked out, also where it is encoded or in letters of another case. */
	text(shown: string): string;
	/** The same for every text in a value, keys included. */
	value<T>(value: T): T;
}

/** A character of the token as it may stand in a text: plain, in an address (or one within), in JSON. */
function characterPattern(character: string): string {
	if (/\w/.test(character)) return character;
	const code = character.charCodeAt(0).toString(16).padStart(2, '0');
	return `(?:%(?:25)?${code}|\\\\u00${code}|\\\\?\\${character})`;
}

/** Made once for each credential. A token of fewer than six characters is left: words may contain it. */
export function redactor(apiToken: string): Redactor {
	if (apiToken.length < 6) return { text: (text) => text, value: (value) => value };
	const characters = Array.from(apiToken, characterPattern);
	// The service may have cut it off, so this much is enough; nor can an expression be of any length.
	const requiredLength = Math.max(12, Math.min(500, Math.ceil(characters.length / 2)));
	const optionalTail = characters.slice(requiredLength).map((character) => `${character}?`);
	const token = new RegExp(
		[...characters.slice(0, requiredLength), ...optionalTail].join(''),
		'gi',
	);
	// The mask must not make another token of what is left around it.
	const mask = apiToken.includes('*') ? '•••••' : '*****';

	const text = (shown: string) => shown.replace(token, mask);

	function value<T>(part: T): T {
		if (typeof part === 'string') return text(part) as T;
		if (typeof part !== 'object' || part === null) return part;
		if (Array.isArray(part)) return part.map(value) as T;
		const entries = Object.entries(part).map(([key, entry]) => [text(key), value(entry)] as const);
		return Object.fromEntries(entries) as T;
	}

	return { text, value };
}

/** Takes the tokens of several accounts out of what is said of all of them. */
export const redactAll = (redactors: Redactor[]): Redactor => ({
	text: (shown) => redactors.reduce((text, redact) => redact.text(text), shown),
	value: (value) => redactors.reduce((part, redact) => redact.value(part), value),
});
