/** The MIME types of subtitles. */
export const SUBTITLE_MIME_TYPES = { srt: 'application/x-subrip', vtt: 'text/vtt' };

/** The maximum number of letters in a line. Only a single word may be longer. */
const MAX_LINE_LETTERS = 42;

/** A line of subtitles, and when it is spoken, in seconds from the start. */
export interface Cue {
	text: string;
	start: number;
	end: number;
}

/** Returns the cues of a text that is spoken in `seconds`, as if each letter took the same time. */
export function cuesFor(text: string, seconds: number): Cue[] {
	const lines = linesOf(text);
	const letters = lines.reduce((sum, line) => sum + line.length, 0);
	let lettersSoFar = 0;
	return lines.map((line) => {
		const start = (seconds * lettersSoFar) / letters;
		lettersSoFar += line.length;
		return { text: line, start, end: (seconds * lettersSoFar) / letters };
	});
}

/** Returns a subtitle file with these cues. */
export function subtitlesOf(
	cues: readonly Cue[],
	format: keyof typeof SUBTITLE_MIME_TYPES,
): Buffer {
	const formatTime = (seconds: number) => {
		const clock = new Date(seconds * 1000).toISOString().slice(11, 23);
		return format === 'srt' ? clock.replace('.', ',') : clock;
	};
	const blocks = cues.map(
		({ text, start, end }, index) =>
			`${index + 1}\n${formatTime(start)} --> ${formatTime(end)}\n${text}\n`,
	);
	return Buffer.from((format === 'vtt' ? ['WEBVTT\n', ...blocks] : blocks).join('\n'));
}

/** Breaks a text into lines of at most MAX_LINE_LETTERS letters. Only a single word may be longer. */
export function linesOf(text: string): string[] {
	const lines: string[] = [];
	for (const word of text.trim().split(/\s+/)) {
		const longerLine = `${lines.at(-1) ?? ''} ${word}`.trim();
		if (lines.length > 0 && longerLine.length <= MAX_LINE_LETTERS)
			lines[lines.length - 1] = longerLine;
		else lines.push(word);
	}
	return lines;
}
