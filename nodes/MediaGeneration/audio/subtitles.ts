import {
	CUE_TIME_PATTERN,
	normalizeLines,
	subtitleTypeOf,
	type FileType,
} from '../../shared/parsing/fileType';

/* WebVTT follows the W3C's "WebVTT: The Web Video Text Tracks Format", chapters 4 and 6. SRT has no standard. */

/** The line that says when a cue is shown: `00:01.500 --> 00:04.000 align:start`. */
const TIMING_LINE = new RegExp(
	String.raw`^[ \t]*${CUE_TIME_PATTERN}[ \t]*-->[ \t]*${CUE_TIME_PATTERN}(.*)$`,
);

/** Joins the subtitles of parts, all SRT or all VTT. `startMs`: when the part begins in the joined sound, in ms. */
export function joinSubtitles(
	parts: Array<{ text: string; startMs: number }>,
): FileType & { text: string } {
	// The download of the subtitles has refused any other file.
	const type = subtitleTypeOf(parts[0]!.text)!;
	const isVtt = type.extension === 'vtt';
	/** Adds `ms` milliseconds to a time and formats it. Hours and decimals may be missing. It is below 24 hours. */
	const shiftedTime = (
		[hours, minutes, seconds, decimals = '']: Array<string | undefined>,
		ms: number,
	) => {
		const wholeSeconds = (Number(hours ?? 0) * 60 + Number(minutes)) * 60 + Number(seconds);
		const totalMs = Math.round(wholeSeconds * 1000 + Number(decimals.padEnd(3, '0')) + ms);
		const time = new Date(totalMs).toISOString().slice(11, 23);
		return isVtt ? time : time.replace('.', ',');
	};
	const blocks: string[] = [];
	let cueNumber = 0;

	for (const [index, { text, startMs }] of parts.entries()) {
		const rawBlocks = normalizeLines(text).split(/\n(?:[ \t]*\n)+/);
		// The first block of a VTT file is its header. Only the header of the first part is kept.
		if (isVtt && index > 0) rawBlocks.shift();
		for (const block of rawBlocks.map((rawBlock) => rawBlock.replace(/^\n+|\n+$/g, ''))) {
			const lines = block.split('\n');
			const timingIndex = lines.slice(0, 2).findIndex((line) => TIMING_LINE.test(line));
			const timing = TIMING_LINE.exec(lines[timingIndex] ?? '');
			if (timing) {
				const [start, end] = [timing.slice(1, 5), timing.slice(5, 9)];
				const timeLine = `${shiftedTime(start, startMs)} --> ${shiftedTime(end, startMs)}${timing[9]}`;
				blocks.push([++cueNumber, timeLine, ...lines.slice(timingIndex + 1)].join('\n'));
			} else if (block !== '') blocks.push(block);
		}
	}
	return { text: `${blocks.join('\n\n')}\n`, ...type };
}
