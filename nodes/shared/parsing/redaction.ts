/** Masks the API token in what is about to be shown, stored or logged. */
export interface Redactor {
	/** Masks the token in a text, also in another letter case, percent-encoded, or escaped as in JSON or HTML. */
	text(source: string): string;
	/** Returns a JSON value in which the token is masked, in texts and in keys. */
	value<T>(value: T): T;
}

/** The maximum number of characters of a token in the regular expression, because V8 limits the length of a pattern. */
const MAX_TOKEN_CHARS_IN_PATTERN = 4000;

/** Returns the source of a regular expression that matches a character of the token, also in its usual encodings. */
function characterPattern(character: string): string {
	if (/\w/.test(character)) return character;
	const code = character.charCodeAt(0).toString(16);
	return `(?:%(?:25)?${code}|\\\\u00${code}|\\\\?\\${character}|&[#\\w]{2,6};)`;
}

/** Creates the Redactor of a token. A very short token is not masked, because ordinary words may contain it. */
export function redactor(apiToken: string): Redactor {
	if (apiToken.length < 6) return { text: (text) => text, value: (value) => value };
	const characters = Array.from(apiToken, characterPattern);
	// A text that the service has truncated may end within the token, so the start of the token is enough for a match.
	const requiredLength = Math.max(12, Math.min(500, Math.ceil(characters.length / 2)));
	const optionalTail = characters
		.slice(requiredLength, MAX_TOKEN_CHARS_IN_PATTERN)
		.map((character) => `${character}?`);
	const longTail = characters.length > MAX_TOKEN_CHARS_IN_PATTERN ? '[!-~]*' : '';
	const tokenPattern = new RegExp(
		[...characters.slice(0, requiredLength), ...optionalTail, longTail].join(''),
		'gi',
	);
	// If the token has asterisks, a mask of asterisks could form the token again with the text around it.
	const mask = apiToken.includes('*') ? '•••••' : '*****';

	const text = (source: string) => source.replace(tokenPattern, mask);

	function value<T>(part: T): T {
		if (typeof part === 'string') return text(part) as T;
		if (typeof part !== 'object' || part === null) return part;
		if (Array.isArray(part)) return part.map(value) as T;
		const entries = Object.entries(part).map(([key, entry]) => [text(key), value(entry)] as const);
		return Object.fromEntries(entries) as T;
	}

	return { text, value };
}

/** Creates a Redactor that masks the tokens of several accounts. */
export const combineRedactors = (redactors: Redactor[]): Redactor => ({
	text: (source) => redactors.reduce((text, redact) => redact.text(text), source),
	value: (value) => redactors.reduce((part, redact) => redact.value(part), value),
});
