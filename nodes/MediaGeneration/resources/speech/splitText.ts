/* Splits long texts where a reader would pause. */

/** White space at which a text may be cut: all but non-breaking spaces. */
const SPACE = /[^\S\u00a0\u2007\u202f\ufeff]+/g;
/** The maximum length of a tag, in characters. Something longer only looks like one, as in `a <b and c> d`. */
const MAX_TAG_CHARS = 1000;
/** A tag in a text, such as `<break time="1s"/>`. */
const TAG = new RegExp(`<[A-Za-z/!?][^<>]{0,${MAX_TAG_CHARS - 3}}>`, 'g');
/** A tag for the voice, such as `[laughs harder]` or `[pause 2s]`. */
const VOICE_TAG = /\[\p{L}[^[\]\n]{0,38}\]/gu;
/** A letter or punctuation mark of a script that puts no spaces between words, such as Chinese or Thai. */
const SPACELESS_SCRIPT_CHARACTER =
	'[\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}\\u3001-\\u303f\\uff01-\\uff0f\\uff1a-\\uff65]';
/** Matches right after or right before a letter of a script without spaces. A combining mark stays with its letter. */
const LETTER_EDGE = `(?!\\p{M})(?:(?<=${SPACELESS_SCRIPT_CHARACTER}\\p{M}*)|(?=${SPACELESS_SCRIPT_CHARACTER}))`;
/** Matches where such a word may end together with its punctuation. */
const WORD_END = new RegExp(`${LETTER_EDGE}(?<![\\p{Ps}\\p{Pi}])(?![\\p{Po}\\p{Pe}\\p{Pf}])`, 'uy');
/** Characters that stay together if a text is cut between words, such as a URL, a number or an English word. */
const TOKEN = /[!-~\uff0c\uff0e\uff10-\uff19]*[!-~\uff10-\uff19]/g;
/** How many characters before or after a possible cut are examined to find out whether a sentence ends there. */
const CONTEXT_CHARS = 64;

/* The locale is fixed, because a retry on another machine must cut a text at the same places to collect its parts. */
const sentenceSegmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
const wordSegmenter = new Intl.Segmenter('en', { granularity: 'word' });
const graphemeSegmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Abbreviations without their full stop. Those like `J.`, `3.` and `z.B.` are recognized by their form. */
const ABBREVIATIONS = new Set(
	'dr mr mrs ms prof st jr sr no nos vs etc fig vol inc ltd co approx hr hrn fr nr bzw usw ca mme sra ud ул'.split(
		' ',
	),
);

/** True if the full stop before `end` seems to belong to an abbreviation or a number. */
function endsInAbbreviation(text: string, end: number): boolean {
	const before = text.slice(Math.max(0, end - CONTEXT_CHARS), end);
	const word = /([\p{L}\p{M}\p{N}.]+)\.[\p{Pe}\p{Pf}"']*$/u.exec(before)?.[1];
	if (word === undefined) return false;
	return (
		/^(?:\p{L}\p{M}*|\d{1,3}|[IVXLCDM]+)$/u.test(word) ||
		/[^.]\.[^.]/.test(word) ||
		ABBREVIATIONS.has(word.toLowerCase())
	);
}

const isSpace = (text: string, position: number) => text.charAt(position).search(SPACE) === 0;

/** Returns where the white space begins that ends at `position`; `position` itself if there is none. */
function spaceStart(text: string, position: number): number {
	let start = position;
	while (isSpace(text, start - 1)) start--;
	return start;
}

/** Returns where the white space ends that begins at `position`; `position` itself if there is none. */
function spaceEnd(text: string, position: number): number {
	let end = position;
	while (isSpace(text, end)) end++;
	return end;
}

/**
 * Yields the parts of a text, in order, each with at most `maxLength` characters (UTF-16 code units). Together, the
 * parts are the whole text, except for the white space at the cuts and at both ends.
 *
 * If possible, a part ends where a reader would pause: at the end of a paragraph, a sentence, a line or a word. Throws
 * a RangeError if a single character or tag is longer than `maxLength`.
 */
export function* splitText(text: string, maxLength: number): Generator<string> {
	const textWithoutTags = text
		.replace(TAG, tagSubstitute)
		.replace(VOICE_TAG, (tag) => tag.replace(/\s/g, '_'));
	const textEnd = spaceStart(text, text.length);
	let start = spaceEnd(text, 0);
	while (start < textEnd) {
		let end = textEnd;
		if (textEnd - start > maxLength) {
			const remaining = textWithoutTags.slice(start, start + maxLength + CONTEXT_CHARS);
			const partLength =
				findCutBetweenWords(remaining, maxLength) ?? findCutInWord(text.slice(start), maxLength);
			if (partLength === 0) throw new RangeError('A character or a tag is longer than a part');
			end = start + partLength;
		}
		yield text.slice(start, end);
		start = spaceEnd(text, end);
	}
}

/**
 * Returns a text of the same length that replaces a tag while sentences are searched for. An opening tag is replaced by
 * letters, so that it belongs to the sentence after it; any other tag by quotation marks, so that it belongs to the
 * sentence before it.
 */
const tagSubstitute = (tag: string) =>
	(/^<[A-Za-z](?:[^]*[^/])?>$/.test(tag) ? 'X' : '"').repeat(tag.length);

/** Returns the best position to cut `text` between words, up to `maxLength`; undefined if there is none. */
function findCutBetweenWords(text: string, maxLength: number): number | undefined {
	const sentenceEnds = new Set(sentenceEndsOf(text));
	/** For each position in the text: 1 if a cut there would split a TOKEN, otherwise 0. */
	const tokenMask = new Uint8Array(text.length);
	for (const { index, 0: token } of text.matchAll(TOKEN)) {
		tokenMask.fill(1, index + 1, index + token.length);
	}
	const mayEndWord = (position: number) => {
		WORD_END.lastIndex = position;
		// Within a surrogate pair, a regular expression would match from the start of the pair, so no cut is allowed
		// there. A part must not end with white space.
		return (
			!tokenMask[position] &&
			!/[\udc00-\udfff]/.test(text.charAt(position)) &&
			!isSpace(text, position - 1) &&
			WORD_END.test(text)
		);
	};
	// In Chinese, no space follows a sentence.
	const endsWithoutSpace = [...sentenceEnds].filter(
		(end) => !isSpace(text, end) && mayEndWord(end),
	);
	const spaces = [...text.matchAll(SPACE)].map(({ index }) => index);
	// The places between words where the text may be cut, the last one first.
	const places = [...spaces, ...endsWithoutSpace]
		.filter((position) => position > 0 && position <= maxLength)
		.sort((a, b) => b - a);
	const lineBreaksAt = (position: number) =>
		text.slice(position, spaceEnd(text, position)).split(/\r\n|[\n\r\u2028\u2029]/).length - 1;
	const isSentenceEnd = (position: number) => sentenceEnds.has(position);
	const isParagraphEnd = (position: number) =>
		lineBreaksAt(position) > (isSentenceEnd(position) ? 0 : 1);
	// What makes a place good for a cut, the best condition first.
	const preferences: Array<(position: number) => boolean> = [
		(position) => isParagraphEnd(position) && position >= (maxLength * 2) / 3,
		(position) => isParagraphEnd(position) || isSentenceEnd(position),
		(position) => lineBreaksAt(position) > 0,
		(position) => !endsInAbbreviation(text, position),
	];
	const latePlaces = places.filter((position) => position >= maxLength / 3);
	for (const isPreferred of preferences) {
		const place = latePlaces.find(isPreferred);
		if (place !== undefined) return place;
	}
	const wordSegments = wordSegmenter.segment(text);
	const isWordEnd = (position: number) =>
		mayEndWord(position) && wordSegments.containing(position)!.index === position;
	for (let position = maxLength; position > 0; position--) if (isWordEnd(position)) return position;
	return places[0];
}

/** Returns the positions where sentences end, before the white space that follows them, in ascending order. */
const sentenceEndsOf = (text: string) =>
	// The segmenter ends a sentence at a line break, but a line may break within a sentence.
	[...sentenceSegmenter.segment(text.replace(/[\r\n\u2028\u2029]/g, ' '))]
		.map(({ index }) => spaceStart(text, index))
		.filter((end) => end > 0 && !endsInAbbreviation(text, end));

/** Returns where to cut a word longer than a part: before the character or tag that no longer fits, which may be 0. */
function findCutInWord(text: string, maxLength: number): number {
	const near = text.slice(0, maxLength + MAX_TAG_CHARS);
	for (const { index, 0: tag } of [...near.matchAll(TAG), ...near.matchAll(VOICE_TAG)])
		if (index < maxLength && index + tag.length > maxLength) return index;
	return graphemeSegmenter.segment(near).containing(maxLength)!.index;
}
