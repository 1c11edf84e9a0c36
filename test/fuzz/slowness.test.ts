import fc from 'fast-check';
import { cleanToken, readCredential } from '../../nodes/shared/http/credential';
import { redactor } from '../../nodes/shared/parsing/redaction';
import * as answers from '../../nodes/shared/parsing/errors';
import { joinSubtitles } from '../../nodes/MediaGeneration/audio/subtitles';
import { readHistory } from '../../nodes/shared/generation/historyEntries';
import * as fileTypes from '../../nodes/shared/parsing/fileType';
import { GenerationEvents } from '../../nodes/shared/parsing/generationEvents';
import * as readers from '../../nodes/shared/parsing/responses';
import * as reasons from '../../nodes/shared/parsing/errors';
import * as values from '../../nodes/shared/parsing/coerce';
import { always, BASE, runs, SOURCE, valueOrFailure } from './check';
import { slowTexts, type Repeated } from './corpus';

/* Long texts must not take longer than their length explains: no expression may run astray. */

const UNITS = [
	...['<', '<a', '<a ', '</', '<!--', '>', '<!', '<html', '&lt;', '<a>', '>>', '\u0000', '\ufeff'],
	...[' ', '\n', '\r', '\t', '\r\n', '_', '-', '- ', '_ ', '/', '//', '/.', '.', '..', '.m', '.mp'],
	...['credit', 'credit ', 'credits', 'insufficient', 'insufficient ', 'insufficient_', 'exceed'],
	...['exhaust ', 'no ', 'no credits ', 'out of ', 'enough ', "n't have ", 'payment ', 'payment_'],
	...[
		'voice',
		'voice ',
		'voice_',
		'not ',
		'not_be_',
		'invalid',
		'invalid ',
		'invalid_',
		'unknown-',
	],
	...['token', 'token ', 'api', 'api_', 'api key ', 'apikey', 'bearer ', 'access-', 'expired '],
	...['.mp4', 'x', 'x ', 'é', '🪲', '\ud800', '%', '%2', '%25', '*', '+', '(', ')', '[', '{', '"'],
	...['\\', ':', ',', '0', '1e', '2026-', 'Bearer ', 'bearer', 'http://', 'https://a/', '@', '?'],
	...['#', '\\u', 'data:', 'data: x\n', 'data:\r', 'event: x\n', ': \n', '[{', '{"a":', '["', '"}'],
	...['a/', 'a.', '.a', '/v1', '/ws', '1\n', '00:', '00:01,000', ' --> ', '-->', '<00:00.1'],
	...['<00:00.1>', '\n1:2-->3:4', 'STYLE\n'],
];

/** Everything that takes a text of the service, or of the credential, by name. */
const READERS: Record<string, (text: string) => unknown> = {
	asText: values.asText,
	asNumber: values.asNumber,
	parseJson: values.parseJson,
	looksLikeHtml: values.looksLikeHtml,
	readFileUrl: (text) => readers.readFileUrl(text, BASE),
	readReason: reasons.readReason,
	plainText: reasons.plainText,
	readSpeechTask: (text) => readers.readSpeechTask({ status: text, result: text }, SOURCE),
	readGeneratedFiles: (text) => readers.readGeneratedFiles([text, { url: text, id: text }], BASE),
	readNotification: readers.readNotification,
	saysOutOfCredit: answers.saysOutOfCredit,
	failureOfText: (text) => answers.failureOfText(text),
	failureOfStatus: (text) => answers.failureOfStatus(400, text),
	failureOfJson: (text) => answers.failureOfStatus(429, JSON.stringify({ error: text })),
	readErrorText: answers.readErrorText,
	readRetryAfter: (text) => answers.readRetryAfter(text, 0),
	readAnswer: (text) => valueOrFailure(() => answers.readAnswer(text, SOURCE.redact)),
	fileTypeOf: (text) =>
		fileTypes.fileTypeOf(
			Buffer.from(text),
			text,
			`${BASE}/${encodeURIComponent(text.slice(0, 9).toWellFormed())}`,
			'image',
		),
	whyNoFile: (text) => fileTypes.whyNoFile(Buffer.from(text), text),
	fileNameOf: (text) => fileTypes.fileNameOf('image', text, 'png'),
	kindSaid: (text) => fileTypes.kindSaid({ type: text }, `${BASE}/a.mp4`),
	readHistory: (text) => readHistory([{ status: text, url: text, created_at: text }], BASE),
	subtitleTypeOf: fileTypes.subtitleTypeOf,
	joinSrt: (text) => joinSubtitles([{ text: `1\n0:0:0-->0:0:1\n${text}`, startMs: 1 }]),
	joinVtt: (text) => joinSubtitles([{ text: `WEBVTT\n\n${text}`, startMs: 1 }]),
	cleanToken: (text) => valueOrFailure(() => cleanToken(text)),
	readAddress: (text) => valueOrFailure(() => readCredential({ apiToken: text, baseUrl: text })),
	redact: (text) => redactor('invalid_token').value({ text, [text]: [text] }),
	redactOf: (text) => redactor(text.slice(0, 4000)).text(text),
	stream: (text) => {
		const events = new GenerationEvents(SOURCE);
		const bytes = Buffer.from(text);
		// As large as n8n hands them on.
		for (let at = 0; at < bytes.length; at += 65_536) events.push(bytes.subarray(at, at + 65_536));
		return events.markEnded();
	},
	streamInSmallParts(text) {
		const events = new GenerationEvents(SOURCE);
		const bytes = Buffer.from(text);
		for (let at = 0; at < bytes.length; at += 20) events.push(bytes.subarray(at, at + 20));
		return events.markEnded();
	},
};

const textOf = ({ start, unit, end }: Repeated, length: number) =>
	start + unit.repeat(Math.ceil(length / unit.length)) + end;

/** Milliseconds of computing, whatever else the machine does meanwhile. */
function msFor(work: () => unknown): number {
	const before = process.cpuUsage();
	work();
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}

/** Four times the text may take four times as long; sixteen times would be its square. */
const MOST = 10;
/** Below this, in ms, other things count for more than the text. */
const NOISE = 100;

const LENGTHS = [4000, 16_000, 64_000, 256_000, ...(runs(1) > 1 ? [1_000_000] : [])];

/** Why a reader takes too long for such texts; undefined when it does not. */
function slownessOf(read: (text: string) => unknown, text: Repeated): string | undefined {
	let before = NOISE / MOST;
	for (const length of LENGTHS) {
		const long = textOf(text, length);
		let ms = Infinity;
		for (let attempt = 0; attempt < 3 && ms > before * MOST; attempt++) {
			ms = Math.min(
				ms,
				msFor(() => read(long)),
			);
		}
		if (ms > before * MOST) {
			return `${length} characters took ${ms} ms, a quarter of them at most ${before} ms`;
		}
		before = Math.max(ms, before);
	}
	return undefined;
}

const piece = fc.constantFrom('', ...UNITS);
const repeated: fc.Arbitrary<Repeated> = fc.record({
	start: fc.tuple(piece, piece).map((pieces) => pieces.join('')),
	unit: fc.tuple(fc.constantFrom(...UNITS), piece).map((pieces) => pieces.join('')),
	end: piece,
});

describe.each(Object.keys(READERS))('long texts for %s', (name) => {
	it('take no longer than their length explains', () => {
		always(repeated, { examples: slowTexts, normal: 4 }, (text) =>
			expect(slownessOf(READERS[name]!, text)).toBeUndefined(),
		);
	});
});
