export const TYPES = { srt: 'application/x-subrip', vtt: 'text/vtt' };

/** Letters of a cue, unless a single word has more. */
const MOST_LETTERS = 42;

/** Subtitles of a text whose speech lasts so long: at each time what is then spoken. */
export function subtitlesFor(text: string, seconds: number, format: keyof typeof TYPES): Buffer {
	const lines = linesOf(text);
	const letters = lines.reduce((sum, line) => sum + line.length, 0);
	const time = (spoken: number) => {
		const clock = new Date((seconds * 1000 * spoken) / letters).toISOString().slice(11, 23);
		return format === 'srt' ? clock.replace('.', ',') : clock;
	};
	let spoken = 0;
	const cues = lines.map((line, index) => {
		const start = time(spoken);
		spoken += line.length;
		return `${index + 1}\n${start} --> ${time(spoken)}\n${line}\n`;
	});
	return Buffer.from((format === 'vtt' ? ['WEBVTT\n', ...cues] : cues).join('\n'));
}

function linesOf(text: string): string[] {
	const lines: string[] = [];
	for (const word of text.trim().split(/\s+/)) {
		const longer = `${lines.at(-1) ?? ''} ${word}`.trim();
		if (lines.length > 0 && longer.length <= MOST_LETTERS) lines[lines.length - 1] = longer;
		else lines.push(word);
	}
	return lines;
}
