/** Long texts, cut where a reader would pause. Pure. */

/** A stretch of a text: `text.slice(start, end)`, without white space around it. */
export interface TextPart {
	text: string;
	start: number;
	end: number;
}

/** White space that a text may be cut at: all but that which keeps two words on one line. */
const SPACE = /[^\S\u00a0\u202f\ufeff]+/g;
const TAG = /<[A-Za-z/!?][^<>]*>/g;
/** A character of a script that puts no blanks between its words, or of its punctuation. */
const BLANKLESS =
	'[\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}\\u3001-\\u303f\\uff01-\\uff0f\\uff1a-\\uff65]';
const [AFTER, BEFORE] = [`(?<=${BLANKLESS}\\p{M}*)(?!\\p{M})`, `(?=${BLANKLESS})(?!\\p{M})`];
const sticky = (pattern: string) => new RegExp(pattern, 'uy');
/** Where such a script begins or ends, … */
const CHANGE = sticky(`${AFTER}(?!${BLANKLESS})|(?<!${BLANKLESS}\\p{M}*)${BEFORE}`);
/** … and where one of its words may: not after a mark that opens something, nor before one that ends it. */
const WORD_END = sticky(`(?:${AFTER}|${BEFORE})(?<![\\p{Ps}\\p{Pi}])(?![\\p{Po}\\p{Pe}\\p{Pf}])`);
/** What stays whole in these scripts, too: addresses, numbers, foreign words, tags. */
const TOKEN = /[!-~\uff0c\uff0e\uff10-\uff19]*[!-~\uff10-\uff19]/g;
/** How far beyond a cut the text tells whether a sentence ends there, in characters. */
const LOOKAHEAD = 64;

/* The rules are the same in every country: what a retry collects must have been cut alike. */
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });
const words = new Intl.Segmenter('en', { granularity: 'word' });
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Common ones, without their full stop. Single letters, numbers and `z.B.` are known by their form. */
const ABBREVIATIONS = new Set(
	'dr mr mrs ms prof st jr sr no nos vs etc fig vol inc ltd co approx hr hrn fr nr bzw usw ca mme sra ud ул'.split(
		' ',
	),
);

/** Whether a full stop that ends at `end` belongs to an abbreviation or a number. */
function isAbbreviated(text: string, end: number): boolean {
	const before = text.slice(Math.max(0, end - LOOKAHEAD), end);
	const word = /([\p{L}\p{M}\p{N}.]+)\.[\p{Pe}\p{Pf}"']*$/u.exec(before)?.[1];
	if (word === undefined) return false;
	return (
		/^(?:\p{L}\p{M}*|\d{1,3}|[IVXLCDM]+)$/u.test(word) ||
		/[^.]\.[^.]/.test(word) ||
		ABBREVIATIONS.has(word.toLowerCase())
	);
}

const isSpace = (text: string, at: number) => text.charAt(at).search(SPACE) === 0;

/** `at`, or where the white space begins that ends there. */
function beforeSpace(text: string, at: number): number {
	let end = at;
	while (isSpace(text, end - 1)) end--;
	return end;
}

function afterSpace(text: string, at: number): number {
	let start = at;
	while (isSpace(text, start)) start++;
	return start;
}

/**
 * The parts of a text, each of at most `most` characters (UTF-16 units) and, except for the last, at least
 * a third of that where white space, or a script that has none, allows it: cut at a paragraph that ends in
 * the last third, else at a sentence, else at a line or a word. Another word, an address or a number is cut
 * only when it is longer than a part, and then in no character or tag. Together the parts are the text;
 * only white space at the cuts is left out. Throws a RangeError when a single character or tag is longer than `most`.
 */
export function* splitText(text: string, maxLength: number): Generator<TextPart> {
	const plain = text.replace(TAG, standIn);
	const length = beforeSpace(text, text.length);
	let start = afterSpace(text, 0);
	while (start < length) {
		let end = length;
		if (length - start > maxLength) {
			const remaining = plain.slice(start, start + maxLength + LOOKAHEAD);
			const cut =
				cutBetweenWords(remaining, maxLength) ??
				beforeTag(text.slice(start), cutInWord(remaining, maxLength));
			if (cut === 0) throw new RangeError('A character or a tag is longer than a part');
			end = start + cut;
		}
		yield { text: text.slice(start, end), start, end };
		start = afterSpace(text, end);
	}
}

/**
 * What takes the place of a tag while places to cut are looked for: an opening tag belongs to the
 * sentence after it, as a letter would; others to the one before.
 */
const standIn = (tag: string) => (/^<[A-Za-z][^]*[^/]>$/.test(tag) ? 'X' : '"').repeat(tag.length);

/** The best place between two words to cut a text at that is longer than `most`; undefined if there is none. */
function cutBetweenWords(text: string, maxLength: number): number | undefined {
	const sentenceEnds = new Set(sentenceEndsOf(text));
	/** 1 where a cut would be inside of a token. */
	const inTokens = new Uint8Array(text.length);
	for (const { index, 0: token } of text.matchAll(TOKEN)) {
		inTokens.fill(1, index + 1, index + token.length);
	}
	const isAt = (place: RegExp, at: number) => {
		place.lastIndex = at;
		// Between the halves of a character, an expression would look at its beginning.
		return !inTokens[at] && !/[\udc00-\udfff]/.test(text.charAt(at)) && place.test(text);
	};
	const spaces = [...text.matchAll(SPACE)].map(({ index: at, 0: run }) => {
		const lines = run.split(/\r\n|[\n\r\u2028\u2029]/).length - 1;
		const isSentence = sentenceEnds.has(at);
		return { at, lines, isSentence, isParagraph: lines > 1 || (lines === 1 && isSentence) };
	});
	const between = [...sentenceEnds]
		.filter((at) => !isSpace(text, at) && isAt(WORD_END, at))
		.map((at) => ({ at, lines: 0, isSentence: true, isParagraph: false }));
	// The last one first.
	const places = [...spaces, ...between]
		.filter(({ at }) => at > 0 && at <= maxLength)
		.sort((one, other) => other.at - one.at);
	const preferred: Array<(place: (typeof places)[number]) => boolean> = [
		({ at, isParagraph }) => isParagraph && at >= (maxLength * 2) / 3,
		({ isParagraph, isSentence }) => isParagraph || isSentence,
		({ lines }) => lines > 0,
		({ at }) => !isAbbreviated(text, at),
		() => true,
	];
	const filled = places.filter(({ at }) => at >= maxLength / 3);
	for (const isWanted of preferred) {
		const place = filled.find(isWanted);
		if (place) return place.at;
	}
	const inWords = words.segment(text);
	const isWordEnd = (at: number) =>
		isAt(WORD_END, at) && (isAt(CHANGE, at) || inWords.containing(at)!.index === at);
	for (const isEnd of [isWordEnd, (at: number) => isAt(CHANGE, at)]) {
		for (let at = maxLength; at > 0; at--) if (isEnd(at)) return at;
	}
	return places[0]?.at;
}

/** Where sentences end in `text`, without the white space after them; rising. */
const sentenceEndsOf = (text: string) =>
	// The end of a line does not end a sentence.
	[...sentences.segment(text.replace(/[\r\n\u2028\u2029]/g, ' '))]
		.map(({ index }) => beforeSpace(text, index))
		.filter((end) => end > 0 && !isAbbreviated(text, end));

/** Where to cut a word that is longer than a part: between two characters; 0 if there are none. */
const cutInWord = (text: string, maxLength: number) =>
	graphemes.segment(text).containing(maxLength)!.index;

/** `at`, or where the tag begins that is around it. */
function beforeTag(text: string, at: number): number {
	for (const { index, 0: tag } of text.matchAll(TAG)) {
		if (index >= at) break;
		if (index + tag.length > at) return index;
	}
	return at;
}
