/* What languages are called. Pure. */

/** In lower case, without accents, with one space between words. */
export const plain = (text: string) =>
	text
		.normalize('NFKD')
		.replace(/\p{M}/gu, '')
		.toLowerCase()
		.replace(/[^\p{L}\p{N}]+/gu, ' ')
		.trim();

/** What the language of a code such as `en` or `pt-BR` is called in English and by those who speak it. */
export function languageNames(text: string): string[] {
	const code = text.replace('_', '-');
	if (!/^[a-z]{2,3}(?:-(?:[a-z]{2}|\d{3}))?$/i.test(code)) return [];
	const options = { type: 'language', fallback: 'none' } as const;
	return ['en', code].flatMap((speaker) => new Intl.DisplayNames(speaker, options).of(code) ?? []);
}

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];

/** The codes of languages by their names, which are plain. Takes some 10 ms. */
export function languageCodes(): Map<string, string> {
	const codes = LETTERS.flatMap((first) => LETTERS.map((second) => first + second));
	const named = (code: string) =>
		languageNames(code).map((name) => [plain(name), Intl.getCanonicalLocales(code)[0]!] as const);
	return new Map(codes.flatMap(named));
}
