import type { FileType } from '../../shared/contract';
import { CUE_TIME, plainLines, SRT, subtitleTypeOf } from '../../shared/parsing/fileType';

/**
 * Subtitles: WebVTT as in the W3C's "WebVTT: The Web Video Text Tracks Format", chapters 4 and 6; SRT,
 * for which there is no standard, as SubRip writes it and others vary it. Pure.
 */

const TIMES = new RegExp(String.raw`^[ \t]*${CUE_TIME}[ \t]*-->[ \t]*${CUE_TIME}(.*)$`);
/** Within the text of a cue: when the words after it are spoken. */
const INNER_TIME = new RegExp(`<${CUE_TIME}>`, 'g');
/** The beginning of a cue without an empty line before it. */
const SRT_CUE = new RegExp(String.raw`\n(?:\d+[ \t]*\n)?[ \t]*${CUE_TIME}[ \t]*-->`, 'g');

/** The cues of a file, and whatever else is between empty lines; each as its lines. */
function blocksOf(text: string, isVtt: boolean): string[][] {
	const blocks = isVtt
		? text.replace(/^(.*)\n(?=.*-->)/, '$1\n\n').split(/\n{2,}/)
		: `\n${text}`.replace(SRT_CUE, '\n$&').split(/\n(?:[ \t]*\n)+/);
	return blocks
		.map((block) => block.split('\n').filter((line) => line !== ''))
		.filter(({ length }) => length > 0);
}

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
 * whatever their names. VTT keeps the first header, with all styles and regions after it. Returns why
 * not, in words, when some are SRT and others VTT.
 */
export function joinSubtitles(
	parts: Array<{ text: string; startMs: number }>,
): (FileType & { text: string }) | { why: string } {
	const types = new Set(parts.map(({ text }) => subtitleTypeOf(text)));
	const [type = SRT, other] = types;
	if (other !== undefined) return { why: 'some are SRT, others VTT' };
	const isVtt = type !== SRT;
	const head = new Set<string>();
	const body: string[] = [];
	let count = 0;

	for (const [index, { text, startMs }] of parts.entries()) {
		const blocks = blocksOf(plainLines(text), isVtt);
		const header = isVtt ? blocks.shift() : undefined;
		if (header && index === 0) head.add(header.join('\n'));
		for (const block of blocks) {
			const at = block.slice(0, 2).findIndex((line) => TIMES.test(line));
			const whole = block.join('\n');
			if (at >= 0) body.push(cue(block, at, startMs));
			else if (!isVtt || !/^(?:STYLE|REGION)[ \t]*(?:\n|$)/.test(whole)) body.push(whole);
			else head.add(whole);
		}
	}
	return { text: `${[...head, ...body].join('\n\n')}\n`, ...type };

	/** The same cue, `ms` milliseconds later; its times are in the line `at`. */
	function cue(block: string[], at: number, ms: number): string {
		const shift = (groups: string[]) => later(groups, ms, isVtt ? '.' : ',');
		const times = TIMES.exec(block[at]!)!;
		const said = block.slice(at + 1).join('\n');
		return [
			++count,
			`${shift(times.slice(1, 5))} --> ${shift(times.slice(5, 9))}${times[9]}`,
			isVtt ? said.replace(INNER_TIME, (...found) => `<${shift(found.slice(1, 5))}>`) : said,
		].join('\n');
	}
}
