import { SoundDuration } from '../../nodes/MediaGeneration/audio/soundDuration';
import { Renderer } from '../../simulator/media/renderer.mts';
import { startSimulator, type Simulator } from '../../simulator/simulator.mts';
import { order } from '../service/order.mts';

/* What the demo makes: by ear and eye, and here as far as a machine can tell. */

const TEXT = 'In 2026 there were three rows, and each of them had a file of its own, to be played.';

const renderer = new Renderer();
let sim: Simulator;
beforeAll(async () => void (sim = await startSimulator({ pace: 0.002, media: 'rendered' })));
afterAll(async () => {
	renderer.close();
	await sim.close();
});

/** The files of a speech that the service makes, and the sound's length in seconds. */
async function spoken(input: string, voice = 0) {
	const body = { input, voice_id: sim.voiceIds()[voice], model_id: 'labs_v3' };
	const { task_id: id } = JSON.parse(await order(sim, 'labs/task', body));
	await sim.waitFor(() => sim.tasks.get(id)!.audioUrl !== undefined);
	const { audioUrl, subtitleUrl } = sim.tasks.get(id)!;
	const bytes = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer());
	const sound = await bytes(audioUrl!);
	const length = new SoundDuration();
	length.push(sound);
	return { sound, seconds: length.ms()! / 1000, subtitles: String(await bytes(subtitleUrl!)) };
}

/** When the cues begin and end, in seconds. */
const times = (subtitles: string) =>
	[...subtitles.matchAll(/00:00:(\d\d),(\d{3})/g)].map(([, s, ms]) => Number(`${s}.${ms}`));

test.each(['', '[sim:mp3]'])('a text is spoken %s', async (scenario) => {
	const { seconds, subtitles } = await spoken(`${TEXT} ${scenario}`);
	// Sixteen words, and a year.
	expect(seconds).toBeGreaterThan(5);
	expect(seconds).toBeLessThan(12);
	const reported = times(subtitles);
	expect(reported).toEqual([...reported].sort((a, b) => a - b));
	expect(reported.at(-1)! / seconds).toBeCloseTo(1, 1);
	// The year takes long to say: by its letters alone, the first line would be over sooner.
	expect(reported[1]! / seconds).toBeGreaterThan(38 / TEXT.length);
	expect(subtitles.match(/^\p{L}.*/gmu)!.join(' ')).toBe(TEXT);
});

test('a voice has a pace of its own, and keeps to it', async () => {
	const text = 'Hello, this is row seven.';
	const speeches = await Promise.all([spoken(text), spoken(text), spoken(text, 1)]);
	const [first, again, other] = speeches.map(({ seconds }) => seconds);
	expect(Math.abs(again! / first! - 1)).toBeLessThan(0.01);
	expect(Math.abs(other! / first! - 1)).toBeGreaterThan(0.02);
});

test('an image shows its prompt', async () => {
	const draw = async (prompt: string) =>
		await renderer.renderImage({ id: 'a', prompt, isPortrait: false });
	const image = await draw('A fox & <a hen>');
	expect([image.toString('latin1', 1, 4), image.readUInt32BE(16)]).toEqual(['PNG', 640]);
	expect(image.equals(await draw('A fox & <a hen>'))).toBe(true);
	expect(image.equals(await draw('A fox & <a cow>'))).toBe(false);
	expect((await draw('long words '.repeat(500))).readUInt32BE(20)).toBe(360);
});

test.each([
	[true, 360, 640],
	[false, 640, 360],
])('a video of four seconds, portrait: %s', async (portrait, width, height) => {
	const video = await renderer.renderVideo({ id: 'a', prompt: 'A fox', isPortrait: portrait });
	const sample = video.indexOf('avc1', video.indexOf('stsd'));
	expect([video.readUInt16BE(sample + 28), video.readUInt16BE(sample + 30)]).toEqual([
		width,
		height,
	]);
	const header = video.indexOf('mvhd');
	expect(video.readUInt32BE(header + 20) / video.readUInt32BE(header + 16)).toBe(4);
	const other = await renderer.renderVideo({ id: 'a', prompt: 'A hen', isPortrait: portrait });
	expect(video.equals(other)).toBe(false);
});
