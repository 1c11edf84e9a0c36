import type { FileType } from '../../shared/contract';
import { CUE_TIME, plainLines, SRT, subtitleTypeOf } from '../../shared/parsing/fileType';

/**
 * Subtitles: WebVTT as in the W3C's "WebVTT: The Web Video Text Tracks Format", chapters 4 and 6; SRT,
 * for which there is no standard, as SubRip writes it and others vary it. Pure.
 */

const TIMES = new RegExp(String.raw`^[ \t]*${CUE_TIME}[ \t]*-->[ \t]*${CUE_TIME}(.*)$`);

const two = (number: number) => String(number).padStart(2, '0');

/** A time, given as the groups of `CUE_TIME`, `ms` milliseconds later. */
function later(parts: Array<string | undefined>, ms: number, point: string): string {
	const [hours = 0, minutes = 0, seconds = 0] = parts.slice(0, 3).map((part) => Number(part ?? 0));
	const fraction = Number((parts[3] ?? '').padEnd(3, '0'));
	const all = Math.round(((hours * 60 + minutes) * 60 + seconds) * 1000 + fraction + ms);
	const whole = Math.floor(all / 1000);
	const clock = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60].map(two);
	return `${clock.join(':')}${point}${String(all % 1000).padStart(3, '0')}`;
}

/**
 * Joins subtitles of one type, given with the time at which each part begins. Cues are numbered anew,
 * whatever their names; of VTT, the first header counts. Returns why not, in words, when some are SRT and
 * others VTT.
 */
export function joinSubtitles(
	parts: Array<{ text: string; startMs: number }>,
): (FileType & { text: string }) | { reason: string } {
	const types = new Set(parts.map(({ text }) => subtitleTypeOf(text)));
	const [type = SRT, other] = types;
	if (other !== undefined) return { reason: 'some are SRT, others VTT' };
	const isVtt = type !== SRT;
	const point = isVtt ? '.' : ',';
	const blocks: string[] = [];
	let count = 0;

	for (const [index, { text, startMs }] of parts.entries()) {
		const cues = plainLines(text).split(/\n(?:[ \t]*\n)+/);
		if (isVtt && index > 0) cues.shift();
		for (const block of cues.map((each) => each.replace(/^\n+|\n+$/g, ''))) {
			const lines = block.split('\n');
			const at = lines.slice(0, 2).findIndex((line) => TIMES.test(line));
			const times = TIMES.exec(lines[at] ?? '');
			if (times) {
				const [start, end] = [times.slice(1, 5), times.slice(5, 9)];
				const shown = `${later(start, startMs, point)} --> ${later(end, startMs, point)}${times[9]}`;
				blocks.push([++count, shown, ...lines.slice(at + 1)].join('\n'));
			} else if (block !== '') blocks.push(block);
		}
	}
	return { text: `${blocks.join('\n\n')}\n`, ...type };
}
