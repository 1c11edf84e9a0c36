import fc from 'fast-check';
import { splitText } from '../../nodes/MediaGeneration/resources/speech/splitText';
import { always } from '../fuzz/check';

const split = (text: string, limit: number) => [...splitText(text, limit)];

const SENTENCE = 'The harbour lay still in the first light.';

/** Each text is to be cut at its bars, and the white space there dropped. */
test.each<[title: string, most: number, text: string]>([
	['nothing but white space is no part', 10, ' \n\t '],
	['at a paragraph in the last third', 60, `${SENTENCE}|\n\nThen came. The boats came back.`],
	['at a sentence, when that ends too early', 60, `Short. A bit.\n\n${SENTENCE}| The boats.`],
	['at a word, when no sentence ends', 20, 'one two three four| five six seven'],
	['at a line of a list, before a word', 30, 'eggs and butter|\nflour and sugar\nsalt'],
	['a word longer than a part', 4, 'abcd|efgh|ij'],
	['no address', 34, 'See| https://example.com/a.b/c?d=e.f| for more.'],
	['English titles and numbers', 40, 'We met at noon.| There Dr. J. Smith paid 3.50 at No. 7.'],
	['German abbreviations', 44, 'Wir kamen spät an.| Am 3. Mai, z. B. bei Hrn. Prof. Dr. Jo.'],
	['figure spaces in a number', 22, 'Das Haus kostet| 12\u2007345\u2007678 Euro.'],
	['French spaces before a mark', 26, 'Il est là. Vraiment\u00a0?| Oui\u202f! Bien sûr.'],
	['Russian', 30, 'Он жил на ул. Мира.| Потом уехал. Куда?'],
	['Chinese sentences', 12, '今天天气很好。|我们去公园散步吧。'],
	[
		'Chinese, at a paragraph in the last third',
		20,
		'今天天气很好我们去公园散步吧。|\n好的！他说。我们走吧我们走吧我们走。',
	],
	[
		'Chinese behind a short title',
		15,
		'标题\n\n今天天气很好。|我们去公园散步吧。|他说好的，我们走吧。',
	],
	['Chinese, at a word', 12, '今天天气很好我们去公园|散步然后回家吃饭睡觉'],
	['no address among Chinese', 34, '请访问我们的网站|https://example.com/a.b?c=d!e我们等你。'],
	['no number among Japanese', 12, '人口はおよそ|1,234,567人|です。'],
	['no wide number', 12, '人口はおよそ|１，２３４，５６７人|です。'],
	['quotes end with their sentence', 26, '“Come in.” “Thank you.”| He sat.'],
	['never in a tag', 24, 'Hello there,| <break time="1 s"/> you| all'],
	['before a tag that opens a sentence', 8, '一二三。|<s>四五六。'],
	[
		'before a tag within a word that is longer than a part',
		17,
		'Well,wellwell|<break time="1"/>|ok',
	],
	['never in a tag for a voice', 16, 'And then| [laughs harder]| it fell'],
	['what only looks like a tag', 8, 'if 3 < 4| and 5 >| 4'],
])('%s', (_, limit, text) => {
	const parts = text.split('|').map((part) => part.trim());
	expect(split(text.replaceAll('|', ''), limit)).toEqual(parts.filter(Boolean));
});

test('a character that is longer than a part is refused', () => {
	expect(() => split('a 😀', 1)).toThrow(RangeError);
	expect(() => split('👨‍👩‍👧‍👦😀', 8)).toThrow(RangeError);
});

test.each([['<break time="1 s"/>'], ['[laughs harder]']])(
	'the tag %s is refused if it is longer than a part',
	(tag) => {
		expect(() => split(`Well ${tag} then`, tag.length - 1)).toThrow(RangeError);
		expect(split(`Well ${tag} then`, tag.length)).toEqual(['Well', tag, 'then']);
	},
);

test('a long tag, such as that of an image in a news feed, stays whole if it fits', () => {
	const tag = `<img src="https://example.com/${'a'.repeat(300)}" alt="The harbour. A boat."/>`;
	const text = `${SENTENCE} ${tag} ${SENTENCE}`;
	expect(split(text, 400).filter((part) => part.includes(tag))).toHaveLength(1);
});

test('a comparison that no tag could be as long as is cut between words', () => {
	const text = `If a <b then ${'word '.repeat(300)}so c> d.`;
	expect(split(text, 100).join(' ')).toBe(text);
});

const SCRIPTS = [
	'The boats came back. Dr. Smith waited, as ever! Did he (that day) “know”? At 3.50, e.g. so. ',
	'Am 3. Mai fuhr Prof. Dr. Müller z. B. nach Köln; usw. Wirklich? Ja! ',
	'今天天气很好。我们去公园散步吧！「好的」，他说。',
	'東京都渋谷区に住んでいます。「はい」。',
	'यह अच्छा है। वह भी अच्छा है? ',
	'สวัสดีครับ วันนี้อากาศดีมาก ',
	'Он жил на ул. Мира, д. 5. А потом уехал. ',
	'قال لي: "أهلا". ثم ذهب؟ نعم! ',
];
const pieces = fc.oneof(
	fc.constantFrom(...SCRIPTS),
	fc.constantFrom('\n', '\n\n', '\r\n\r\n', '  ', '\t', '\u00a0', '\u2007', '\u202f', '\u3000'),
	fc.constantFrom('…', '?!', '—'),
	fc.constantFrom('[whispers]', '[laughs harder]', '[1]', '[note: '),
	fc.constantFrom('<b>', '</b>', '<break time="1 s"/>', '<p>', '< 4 >', 'a<b', '<!-- . -->'),
	fc.constantFrom('👨‍👩‍👧‍👦', '😀', 'e\u0301', '\ud83d', 'https://example.org/a-very/long/path?q=1'),
	fc.string({ unit: 'binary', maxLength: 8 }),
	fc.string({ unit: 'grapheme', maxLength: 30 }),
);
const TAG = '(?:<[A-Za-z/!?][^<>]{0,997}>|\\[\\p{L}[^[\\]\\n]{0,38}\\])';
const LONG_TAG = /<[A-Za-z/!?][^<>]{18,}>/;
const texts = fc
	.array(pieces, { maxLength: 40 })
	.map((all) => all.join(''))
	.filter((text) => !LONG_TAG.test(text));
const limits = fc.integer({ min: 100, max: 500 });
const SPACE = '[^\\S\\u00a0\\u2007\\u202f\\ufeff]';
/** Scripts that put no blanks between words, and their punctuation: a word may end beside any of these. */
const BLANKLESS =
	'[\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}\\u3001-\\u303f\\uff01-\\uff0f\\uff1a-\\uff65]';
const IN_WORD = `(?!${BLANKLESS}|(?<=${BLANKLESS}\\p{M}*)\\p{M})[\\S\\u00a0\\u2007\\u202f\\ufeff]`;

test('the parts of any text are the text, in order and short enough, and cut in no character, tag or word that fits', () => {
	const run = `(?:${TAG}|${IN_WORD})*`;
	always(fc.tuple(texts, limits), { normal: 400 }, ([text, limit]) => {
		let at = 0;
		for (const part of splitText(text, limit)) {
			const start = text.indexOf(part, at);
			const end = start + part.length;
			const [done, rest] = [text.slice(0, end), text.slice(end)];
			expect(text.slice(at, start)).toMatch(new RegExp(`^${SPACE}*$`));
			expect(part.length).toBeLessThanOrEqual(limit);
			expect(part).not.toMatch(new RegExp(`^${SPACE}|${SPACE}$|^$`));
			const cutsCharacter = /[\ud800-\udbff]$/.test(part) && /^[\udc00-\udfff]/.test(rest);
			expect(cutsCharacter).toBe(false);
			const before = new RegExp(`${run}$`, 'u').exec(done)![0];
			const after = new RegExp(`^${run}`, 'u').exec(rest)![0];
			const isCut = before.length > 0 && after.length > 0;
			if (isCut) expect(before.length + after.length).toBeGreaterThan(limit);
			for (const { index, 0: tag } of text.matchAll(new RegExp(TAG, 'gu'))) {
				expect(index < end && end < index + tag.length).toBe(false);
			}
			at = end;
		}
		expect(text.slice(at)).toMatch(new RegExp(`^${SPACE}*$`));
	});
});

test.each(SCRIPTS.filter((script) => new RegExp(BLANKLESS, 'u').test(script)))(
	'parts have at least a third of the limit: %s',
	(script) => {
		const paragraphs = fc.array(fc.array(fc.constantFrom('短い', script.trim()), { minLength: 1 }));
		const limited = fc.tuple(paragraphs, fc.integer({ min: 40, max: 300 }));
		always(limited, { normal: 100 }, ([all, limit]) => {
			const parts = split(all.map((paragraph) => paragraph.join('')).join('\n'), limit);
			for (const part of parts.slice(0, -1)) expect(part.length).toBeGreaterThan(limit / 3 - 1);
		});
	},
);

test.each([
	['one word', 'a'.repeat(1_000_000)],
	['Chinese', '今天天气很好'.repeat(160_000)],
	['Chinese sentences with foreign words', '今天a。'.repeat(250_000)],
	['what opens and never closes', '<a '.repeat(300_000)],
	['letters with many accents', `a${'\u0301'.repeat(9999)}`.repeat(100)],
])('a million characters of %s are cut in a moment', (_, text) => {
	const began = process.cpuUsage();
	let count = 0;
	for (const part of splitText(text, 25_000)) {
		expect(part.length).toBeLessThanOrEqual(25_000);
		if (++count === 200) break;
	}
	const { user } = process.cpuUsage(began);
	expect(user / 1e6).toBeLessThan(20);
	expect(count).toBeGreaterThan(0);
});
