import { readCredential } from '../../nodes/shared/http/credential';
import { redactor } from '../../nodes/shared/parsing/redaction';
import * as answers from '../../nodes/shared/parsing/errors';
import { joinSubtitles } from '../../nodes/MediaGeneration/audio/subtitles';
import { toHistoryEntries } from '../../nodes/shared/generation/historyEntries';
import * as fileTypes from '../../nodes/shared/parsing/fileType';
import { GenerationEvents } from '../../nodes/shared/parsing/generationEvents';
import * as readers from '../../nodes/shared/parsing/responses';
import { PIECES } from './arbitraries';
import { BASE, SOURCE, valueOrFailure } from './check';
import { slowTexts, type Repeated } from './corpus';

/* Long texts must not take longer than their length explains: no expression may run astray. */

const UNITS = [
	...PIECES.filter(Boolean),
	...'<a |</|<!|<html|&lt;|<a>|>>|- |_ |/.|.|.m|a/|a.|.a|x|x |é|%2|%25|*|(|)|\\|,|2026-|?|#'.split(
		'|',
	),
	...'credit |insufficient_|exceed|exhaust |no credits |enough |payment_|voice_|not_be_'.split('|'),
	...'invalid_|unknown-|api key |apikey|bearer |access-|Bearer |\\u|[{|{"a":|["|"}|/v1|/ws'.split(
		'|',
	),
	...'data:|data: x\n|data:\r|event: x\n|: \n|1\n|00:|00:01,000| --> |-->|<00:00.1'.split('|'),
	...['<00:00.1>', '\n1:2-->3:4', 'STYLE\n', "n't have "],
];

/** Whatever a text of the service, or of the credential, goes through, by name. */
const READERS: Record<string, (text: string) => unknown> = {
	readSpeechTask: (text) => readers.readSpeechTask({ status: text, result: text }, SOURCE),
	readGeneratedFiles: (text) => readers.readGeneratedFiles([text, { url: text, id: text }], BASE),
	readNotification: readers.readNotification,
	failureOfStatus: (text) => answers.failureOfStatus(400, text),
	readErrorText: answers.readErrorText,
	readAnswer: (text) =>
		valueOrFailure(() => answers.parseResponseBody(text, SOURCE.redact, readers.readSuccessRecord)),
	fileTypeOf: (text) => fileTypes.fileTypeOf(Buffer.from(text), text, BASE, 'image'),
	fileNameOf: (text) => fileTypes.fileNameOf('image', text, 'png'),
	readHistory: (text) => toHistoryEntries([{ status: text, url: text, created_at: text }], BASE),
	joinSrt: (text) => joinSubtitles([{ text: `1\n0:0:0-->0:0:1\n${text}`, startMs: 1 }]),
	joinVtt: (text) => joinSubtitles([{ text: `WEBVTT\n\n${text}`, startMs: 1 }]),
	readAddress: (text) => valueOrFailure(() => readCredential({ apiToken: text, baseUrl: text })),
	redact: (text) => redactor('invalid_token').value({ text, [text]: [text] }),
	// As large as n8n hands them on, and small.
	stream: (text) => streamIn(65_536, text),
	streamInSmallParts: (text) => streamIn(20, text),
};

function streamIn(size: number, text: string) {
	const events = new GenerationEvents(SOURCE, 'video');
	const bytes = Buffer.from(text);
	for (let at = 0; at < bytes.length; at += size) events.push(bytes.subarray(at, at + size));
	return events.finish();
}

/** Longer than any answer that is read; at the square of it a reader would take minutes. */
const LENGTH = 100_000;
/** Far above what each reader needs for so much, in ms of computing. */
const MOST_MS = 1000;

/** Milliseconds of computing, whatever else the machine does meanwhile. */
function msFor(work: () => unknown): number {
	const before = process.cpuUsage();
	work();
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}

const repeated: Repeated[] = [...slowTexts, ...UNITS.map((unit) => ({ start: '', unit, end: '' }))];

test.each(Object.keys(READERS))('long texts take no longer than they must: %s', (name) => {
	const slow = repeated.filter(({ start, unit, end }) => {
		const text = start + unit.repeat(LENGTH / unit.length) + end;
		return msFor(() => READERS[name]!(text)) > MOST_MS;
	});
	expect(slow).toEqual([]);
});
