/* The words that no text for users holds, each with what to say instead: one word for one thing. */

export const BANNED: Array<[RegExp, instead: string]> = [
	[
		/\ba speech(?! task)|\bspeeches\b|\bevery speech(?! task)/i,
		'audio, or speech without an article',
	],
	[/\b(?:upper|lower|second) line\b/i, 'branch'],
	[/\baddress(?:es)?\b/i, 'URL'],
	[/\brun this again\b|\bonce more\b/i, 'retry this execution (free), or run the workflow again'],
	[/\bbad rows?\b/i, 'failed row'],
	[/\bhears? of\b/i, 'detects'],
	[/\bspoken\b/i, 'converted'],
	[/\bmachine\b/i, 'computer'],
	[/\brecognis|\bcolour|\bcancelled\b/i, 'US spelling'],
	// One word for money in a sentence.
	[/paid for[^.:]*\bcharged?\b|\bcharged?\b[^.:]*paid for/i, 'one of the two'],
];

/** Those that a text holds. */
export const bannedIn = (text: string) =>
	BANNED.flatMap(([word, instead]) =>
		word.exec(text) ? [`${word.exec(text)![0]} → ${instead}`] : [],
	);
