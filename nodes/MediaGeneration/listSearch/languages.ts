/* Names and codes of languages. */

/** Converts a text to lower-case words without accents or punctuation, with one space between them. */
export const normalizeWords = (text: string) =>
	text
		.normalize('NFKD')
		.replace(/\p{M}/gu, '')
		.toLowerCase()
		.replace(/[^\p{L}\p{N}]+/gu, ' ')
		.trim();

/**
 * Returns the names of the language with a code such as `pt-BR`: in English and, for most languages, in the language
 * itself. Returns an empty list for an unknown code.
 */
export function languageNames(text: string): string[] {
	const code = text.replace('_', '-');
	if (!/^[a-z]{2,3}(?:-(?:[a-z]{2}|\d{3}))?$/i.test(code)) return [];
	const options = { type: 'language', fallback: 'none' } as const;
	return ['en', code].flatMap(
		(displayLocale) => new Intl.DisplayNames(displayLocale, options).of(code) ?? [],
	);
}

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];

/** Maps the normalized names of languages to their two-letter codes. It takes some tens of ms. */
export function languageCodesByName(): Map<string, string> {
	const codes = LETTERS.flatMap((first) => LETTERS.map((second) => first + second));
	const nameEntriesOf = (code: string) =>
		languageNames(code).map(
			(name) => [normalizeWords(name), Intl.getCanonicalLocales(code)[0]!] as const,
		);
	return new Map(codes.flatMap(nameEntriesOf));
}
