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
/** How far beyond a cut the text tells whether a sentence ends there, in characters. */
const LOOKAHEAD = 64;
/** Characters that a word may have, wherever it is asked which one ends somewhere. */
const MAX_WORD_LENGTH = 64;
/** Quotes and brackets that close a sentence. */
const CLOSING = /[\p{Pe}\p{Pf}"'\u2019]+$/u;

/* The rules are the same in every country: what a retry collects must have been cut alike. */
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' });
const words = new Intl.Segmenter('en', { granularity: 'word' });
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Abbreviations, without their full stop, in the most widely spoken languages. Single letters, numbers
 * and those with a full stop inside are known by their form.
 */
const ABBREVIATIONS = new Set(
	(
		'dr mr mrs ms prof rev hon sen gov gen col capt lt sgt st jr sr messrs mt ft no nos vs etc al ' +
		'fig vol ch pp ed eds cf approx dept est inc ltd corp co ave blvd rd tel ext min max sec hr hrs ' +
		'jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun ' +
		'hr hrn fr nr bzw usw vgl ggf evtl inkl zzgl ca bd str abs art kap tab abb mio mrd std geb gest ' +
		'mm mme mmes mlle mgr me env av bd chap ' +
		'sra srta dra ud uds vd pág núm cap dña ee lic ing ' +
		'sig dott prof ecc pag dir spett ' +
		'exmo exma dep eng av séc ' +
		'dhr mevr mw bv enz blz resp ' +
		'ул им гг руб тыс млн млрд стр рис см пр напр проф акад'
	).split(' '),
);

/** Whether a full stop that ends at `end` belongs to an abbreviation or a number. */
function isAbbreviated(text: string, end: number): boolean {
	const before = text.slice(Math.max(0, end - MAX_WORD_LENGTH), end).replace(CLOSING, '');
	const word = /([\p{L}\p{M}\p{N}.]+)\.$/u.exec(before)?.[1];
	if (word === undefined) return false;
	return (
		/^(?:\p{L}\p{M}*|\d{1,3}|[IVXLCDM]+)$/u.test(word) ||
		/[^.]\.[^.]/.test(word) ||
		ABBREVIATIONS.has(word.toLowerCase())
	);
}

/** `at`, or where the white space begins that ends there. */
function beforeSpace(text: string, at: number): number {
	let end = at;
	while (end > 0 && isSpace(text, end - 1)) end--;
	return end;
}

function afterSpace(text: string, at: number): number {
	let start = at;
	while (start < text.length && isSpace(text, start)) start++;
	return start;
}

const isSpace = (text: string, at: number) => /[^\S\u00a0\u202f\ufeff]/.test(text[at]!);

/**
 * The parts of a text, each of at most `most` characters (UTF-16 units) and, except for the last, at least
 * a third of that, as far as tags and white space allow: cut at a paragraph that ends in the last
 * third, else at a sentence, else at a line or a word, never within a character or a tag. Together they
 * are the text; only white space at the cuts is left out. Throws a RangeError when a single character
 * or tag is longer than `most`.
 */
export function* splitText(text: string, most: number): Generator<TextPart> {
	const whole = text.slice(0, beforeSpace(text, text.length));
	let start = afterSpace(whole, 0);
	while (start < whole.length) {
		const end = whole.length - start > most ? start + firstCut(whole, start, most) : whole.length;
		yield { text: whole.slice(start, end), start, end };
		start = afterSpace(whole, end);
	}
}

/** Where the text from `start` on, longer than `most`, is cut first, counted from `start`. */
function firstCut(text: string, start: number, most: number): number {
	const least = Math.ceil(most / 3);
	const reach = afterSpace(text, start + most) - start;
	const rest = text.slice(start, start + reach + LOOKAHEAD);
	const tags = tagsFrom(text, start, most);
	const plain = withoutTags(rest, tags);

	const ends = sentenceEnds(plain, reach).filter((end) => end >= least && end <= most);
	const isEnd = new Set(ends);
	// The last one first.
	const spaces = [...plain.matchAll(SPACE)]
		.map(({ index, 0: run }) => ({ index, lines: run.split('\n').length - 1 }))
		.filter(({ index }) => index >= least && index <= most)
		.reverse();
	const paragraph =
		spaces.find(({ index, lines }) => lines > 1 || (lines === 1 && isEnd.has(index)))?.index ?? 0;
	if (paragraph >= (most * 2) / 3) return paragraph;

	const around = (at: number) => tags.find((tag) => tag.start < at && at < tag.end);
	const found =
		Math.max(paragraph, ends.at(-1) ?? 0) ||
		spaces.find(({ lines }) => lines > 0)?.index ||
		spaces.find(({ index }) => !isAbbreviated(plain, index))?.index ||
		spaces[0]?.index ||
		wordEnd(rest, most, (at) => at >= least && !around(at));
	if (found) return found;
	const end = characterEnd(rest, most);
	const cut = around(end)?.start ?? end;
	if (cut === 0) throw new RangeError('A character or a tag is longer than a part');
	return beforeSpace(rest, cut);
}

interface Tag {
	start: number;
	end: number;
}

/** The tags that begin in the `length` characters from `start` on, where none is under way. */
function tagsFrom(text: string, start: number, length: number): Tag[] {
	const tags: Tag[] = [];
	const tag = new RegExp(TAG);
	tag.lastIndex = start;
	for (let match = tag.exec(text); match; match = tag.exec(text)) {
		const at = match.index - start;
		if (at >= length) break;
		tags.push({ start: at, end: at + match[0].length });
	}
	return tags;
}

/** The text with a stand-in for each tag, in which no sentence ends. */
function withoutTags(text: string, tags: Tag[]): string {
	let end = 0;
	const pieces: string[] = [];
	for (const tag of tags) {
		const inside = text.slice(tag.start, tag.end);
		// An opening tag belongs to the sentence after it, as a letter would; others to the one before.
		const standIn = /^<[A-Za-z][^]*[^/]>$/.test(inside) ? 'X' : '"';
		pieces.push(text.slice(end, tag.start), standIn.repeat(inside.length));
		end = tag.end;
	}
	return pieces.join('') + text.slice(end);
}

/** Where sentences end in `text` up to `reach`, without the white space after them; rising. */
function sentenceEnds(text: string, reach: number): number[] {
	// The end of a line does not end a sentence.
	const line = text.replace(/[\r\n\u2028\u2029]/g, ' ');
	return [...sentences.segment(line)]
		.filter(({ index }) => index > 0 && index <= reach)
		.map(({ index }) => beforeSpace(line, index))
		.filter((end) => !isAbbreviated(line, end));
}

/** The last end of a word up to `most` that `fits`, in scripts without spaces between words. */
function wordEnd(text: string, most: number, fits: (at: number) => boolean): number | undefined {
	const segments = words.segment(text);
	for (let at = most; at > most - MAX_WORD_LENGTH && fits(at); at--) {
		const { index, isWordLike } = segments.containing(at)!;
		const isAfterOpening = /[\p{Ps}\p{Pi}]/u.test(text[index - 1] ?? '');
		// Punctuation at the end of a word stays with it.
		if (isWordLike && !isAfterOpening) {
			const end = beforeSpace(text, index);
			return fits(end) ? end : undefined;
		}
		at = index;
	}
	return undefined;
}

/** The last end of a character, as a reader counts them, up to `most`; 0 when the first is longer. */
function characterEnd(text: string, most: number): number {
	const { index } = graphemes.segment(text).containing(most)!;
	if (index > 0) return index;
	return text.codePointAt(most - 1)! > 0xffff ? most - 1 : most;
}
