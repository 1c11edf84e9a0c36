import { initWasm, Resvg } from '@resvg/resvg-wasm';
import h264 from 'h264-mp4-encoder';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { seedOf } from './random.mts';

const require = createRequire(import.meta.url);
await initWasm(readFileSync(require.resolve('@resvg/resvg-wasm/index_bg.wasm')));

/** What to draw. The color depends on `id`, so that two files of one prompt differ. */
export interface Drawing {
	id: string;
	prompt: string;
	isPortrait: boolean;
}

/** A size in pixels. */
interface Size {
	width: number;
	height: number;
}

const FRAME_COUNT = 20;
const FRAMES_PER_SECOND = 5;
/** The margin around the texts, in pixels. */
const MARGIN = 32;
/** The height of the area below the prompt, in pixels. It contains the caption and the number. */
const FOOTER_HEIGHT = 104;
/** The size of a digit of the number that counts up in a video. */
const DIGIT_SIZE: Size = { width: 40, height: 72 };
/** The font sizes to choose from, in pixels. */
const FONT_SIZES = [56, 44, 36, 28, 22, 17];
/** The mean width of a letter, as a multiple of the font size. */
const LETTER_WIDTH = 0.58;
/** The height of a line, as a multiple of the font size. */
const LINE_HEIGHT = 1.3;

const font = readFileSync(require.resolve('inter-ui/web/Inter-Regular.woff2'));

/** Draws a PNG file that shows its prompt. */
export const drawImage = (drawing: Drawing): Uint8Array =>
	renderSvg(sceneOf(drawing, 'Image'), sizeOf(drawing)).asPng();

/** Draws an MP4 file of four seconds that shows its prompt, its aspect ratio, and a number that counts up. */
export async function drawVideo(drawing: Drawing): Promise<Uint8Array> {
	const size = sizeOf(drawing);
	const shape = drawing.isPortrait ? '9:16 portrait' : '16:9 landscape';
	const scene = renderSvg(sceneOf(drawing, `Video, ${shape}`), size).pixels;
	const digits = renderSvg(digitsFor(drawing), {
		...DIGIT_SIZE,
		width: 10 * DIGIT_SIZE.width,
	}).pixels;
	const encoder = await h264.createH264MP4Encoder();
	Object.assign(encoder, size, {
		frameRate: FRAMES_PER_SECOND,
		speed: 8,
		groupOfPictures: 1,
		quantizationParameter: 30,
	});
	encoder.initialize();
	for (let frameNumber = 1; frameNumber <= FRAME_COUNT; frameNumber++) {
		for (const [digitIndex, digit] of [...String(frameNumber).padStart(2, '0')].entries()) {
			// Copies the digit into the scene, row by row. Each pixel has four bytes.
			for (let y = 0; y < DIGIT_SIZE.height; y++) {
				const sourcePixel = (y * 10 + Number(digit)) * DIGIT_SIZE.width;
				const x = size.width - MARGIN - (2 - digitIndex) * DIGIT_SIZE.width;
				const targetPixel = (size.height - MARGIN - DIGIT_SIZE.height + y) * size.width + x;
				scene.set(
					digits.subarray(sourcePixel * 4, (sourcePixel + DIGIT_SIZE.width) * 4),
					targetPixel * 4,
				);
			}
		}
		encoder.addFrameRgba(scene);
	}
	encoder.finalize();
	const file = encoder.FS.readFile(encoder.outputFilename);
	encoder.delete();
	return file;
}

const sizeOf = ({ isPortrait }: Drawing): Size =>
	isPortrait ? { width: 360, height: 640 } : { width: 640, height: 360 };

const color = ({ id }: Drawing, lightness: number) =>
	`hsl(${seedOf(id) % 360}, 55%, ${lightness}%)`;

/** Returns the SVG of the prompt, in the largest font that fits, above a caption. */
function sceneOf(drawing: Drawing, caption: string): string {
	const { width, height } = sizeOf(drawing);
	const area = { width: width - 2 * MARGIN, height: height - MARGIN - FOOTER_HEIGHT };
	const layouts = FONT_SIZES.map((size) => {
		const lines = wrapText(drawing.prompt, Math.floor(area.width / (size * LETTER_WIDTH)));
		return { size, lines, maxLines: Math.floor(area.height / (size * LINE_HEIGHT)) };
	});
	const { size, lines, maxLines } =
		layouts.find((layout) => layout.lines.length <= layout.maxLines) ?? layouts.at(-1)!;
	const visibleLines = lines.length > maxLines ? [...lines.slice(0, maxLines - 1), '…'] : lines;
	const textElements = visibleLines.map((line, index) =>
		textElement(MARGIN, MARGIN + size * (1 + index * LINE_HEIGHT), size, line),
	);
	return `<defs><linearGradient id="ground" x2="1" y2="1">
		<stop stop-color="${color(drawing, 22)}"/><stop offset="1" stop-color="${color(drawing, 42)}"/>
		</linearGradient></defs><rect width="100%" height="100%" fill="url(#ground)"/>
		${textElements.join('')}${textElement(MARGIN, height - MARGIN, 17, caption)}`;
}

/** Returns the SVG of the ten digits side by side. */
function digitsFor(drawing: Drawing): string {
	const digitElements = Array.from({ length: 10 }, (_, digit) =>
		textElement(digit * DIGIT_SIZE.width + 2, DIGIT_SIZE.height - 12, 60, String(digit)),
	);
	const background = `<rect width="100%" height="100%" fill="${color(drawing, 15)}"/>`;
	return background + digitElements.join('');
}

/** Breaks a text into lines of at most `maxLetters` letters. A word that is longer than a line is broken, too. */
function wrapText(prompt: string, maxLetters: number): string[] {
	const lines: string[] = [];
	for (const word of prompt
		.split(/\s+/)
		.flatMap((word) => word.match(chunksPattern(maxLetters)) ?? [])) {
		const longerLine = `${lines.at(-1) ?? ''} ${word}`.trim();
		if (lines.length > 0 && longerLine.length <= maxLetters) lines[lines.length - 1] = longerLine;
		else lines.push(word);
	}
	return lines;
}

const chunksPattern = (maxLetters: number) => new RegExp(`.{1,${maxLetters}}`, 'gu');

/** Returns the SVG of one line of text. `x`, `y` and `size` (of the font) are in pixels. */
function textElement(x: number, y: number, size: number, letters: string): string {
	// XML allows neither control characters nor lone surrogates.
	const validXml = letters.toWellFormed().replace(/[\0-\x1f\ufffe\uffff]/g, ' ');
	const escaped = validXml.replace(/[&<]/g, (letter) => `&#${letter.charCodeAt(0)};`);
	return `<text x="${x}" y="${y}" font-size="${size}" fill="white">${escaped}</text>`;
}

/** Renders the content of an SVG to pixels. */
function renderSvg(content: string, { width, height }: Size) {
	const namespace = 'http://www.w3.org/2000/svg';
	const svg = `<svg xmlns="${namespace}" width="${width}" height="${height}">${content}</svg>`;
	return new Resvg(svg, { font: { fontBuffers: [font], defaultFontFamily: 'Inter' } }).render();
}
