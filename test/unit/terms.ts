/* The words that no text for users holds, each with what to say instead: one word for one thing. */

/** In the node's texts and messages, and in the pages and examples (terms.test.ts). */
export const COMMON: Array<[RegExp, instead: string]> = [
	[/\b(?:upper|lower|second) line\b/i, 'branch'],
	[/\baddress(?:es)?\b/i, 'URL'],
	[/\bbad (?:row|item)s?\b/i, 'failed row'],
	[/\bhears? of\b/i, 'listen for, detect'],
	[/\b(?:recognis|synthesis|colour|cancell|licence)/i, 'US English'],
];

/** In the node's texts and messages only. */
export const BANNED: Array<[RegExp, instead: string]> = [
	...COMMON,
	[
		/\ba speech(?! task)|\bspeeches\b|\bevery speech(?! task)/i,
		'audio, or speech without an article',
	],
	[/\brun this again\b|\bonce more\b/i, 'retry this execution (free), or run the workflow again'],
	[/\bspoken\b/i, 'converted'],
	[/\bmachine\b/i, 'computer'],
	[/\bpays? (?:only )?what\b|\bpaid twice\b/i, 'one pays for a thing: charged'],
	// One word for money in a sentence.
	[/paid for[^.:]*\bcharged?\b|\bcharged?\b[^.:]*paid for/i, 'one of the two'],
];

/** Those that a text holds. */
export const bannedIn = (text: string) =>
	BANNED.flatMap(([word, instead]) =>
		word.exec(text) ? [`${word.exec(text)![0]} → ${instead}`] : [],
	);
