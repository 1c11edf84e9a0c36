import { joinSubtitles } from '../../nodes/MediaGeneration/audio/subtitles';
import { subtitleTypeOf } from '../../nodes/shared/parsing/fileType';

const joined = (...parts: Array<[startMs: number, text: string]>) =>
	joinSubtitles(parts.map(([startMs, text]) => ({ startMs, text }))).text;
const srt = (...cues: string[]) => `${cues.join('\n\n')}\n`;

const CUE = '00:00:00,000 --> 00:00:01,000\nHi.';

it.each<[string, string, 'srt' | 'vtt' | undefined]>([
	['a number and times', `1\n${CUE}`, 'srt'],
	['a BOM, empty lines and CRLF', `\uFEFF\r\n\r\n1\r\n${CUE.replace('\n', '\r\n')}`, 'srt'],
	['times with points', `1\n${CUE.replaceAll(',', '.')}`, 'srt'],
	['WEBVTT', 'WEBVTT', 'vtt'],
	['WEBVTT behind a BOM, with a title', '\uFEFFWEBVTT - Mine\r\n\r\n', 'vtt'],
	['a web page', '<!DOCTYPE html><!-- a --><html></html>', undefined],
	['words', 'All is said.\n\n1\n' + CUE, undefined],
	['lyrics with times', '[00:01.00] Hi.', undefined],
])('subtitles that begin with %s', (_, text, extension) => {
	expect(subtitleTypeOf(text)?.extension).toBe(extension);
});

describe('SRT', () => {
	const first = srt(
		'1\n00:00:00,000 --> 00:00:01,500\nOne.',
		'2\n00:00:01,500 --> 00:00:02,250\nTwo.',
	);
	const second = srt('1\n00:00:00,100 --> 00:00:01,000\nThree.');
	const whole = srt(first.trimEnd(), '3\n00:00:02,725 --> 00:00:03,625\nThree.');

	it.each<[string, string]>([
		['is numbered anew, and later by what comes before', second],
		['without numbers', second.replace('1\n', '')],
		['with more empty lines', `\n\n${second}\n \n`],
		['with points in its times', second.replaceAll(/,(?=\d)/g, '.')],
		['with times that lack hours', second.replaceAll('00:00:0', '00:0')],
	])('%s', (_, text) => {
		expect(joined([0, first], [2625, text])).toBe(whole);
		expect(joinSubtitles([{ text, startMs: 0 }])).toMatchObject({
			mimeType: 'application/x-subrip',
			extension: 'srt',
		});
	});

	it('the text stays as it is: mark-up, places, empty lines, arrows and times in it', () => {
		const cue = (start: string, end: string) =>
			[
				`1\n${start} --> ${end} X1:10 X2:20`,
				'{\\an8}<i>A</i> --> <00:00:00,500>B\n\n1984\nIt is 00:00:01,000 $& $1\n',
			].join('\n');
		const before = cue('00:00:00,000', '00:00:01,000');
		expect(joined([1000, before])).toBe(cue('00:00:01,000', '00:00:02,000'));
	});
});

describe('VTT', () => {
	it('is later by what comes before, with its hours', () => {
		const text = joined(
			[0, '\uFEFFWEBVTT - Mine\r\nKind: captions\r\n\r\n00:00.000 --> 00:01.000\r\nOne.\r\n'],
			[1500, 'WEBVTT - Other\n\n00:00.250 --> 10:00:01.000 align:start\nTwo,\n<b>too</b>\n'],
		);
		expect(text).toBe(
			srt(
				'WEBVTT - Mine\nKind: captions',
				'1\n00:00:00.000 --> 00:00:01.000\nOne.',
				'2\n00:00:01.750 --> 10:00:02.500 align:start\nTwo,\n<b>too</b>',
			),
		);
	});
});
