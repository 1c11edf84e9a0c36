import type { GenerationOrder } from '../../nodes/MediaGeneration/run/generationOrder';
import { hasHiddenInputs } from '../../nodes/MediaGeneration/run/generationOrder';
import { GENERATIONS } from '../../nodes/shared/contract';

const prepareBody: GenerationOrder['prepareBody'] = async () => await new Promise(() => {});
const shown = { prompt: 'P', aspect_ratio: 'A', number_of_videos: 2 };

// A field that no operation has yet, as CONTRIBUTING.md describes.
test.each([
	['what the history shows', { fields: shown }, false],
	['images', { fields: shown, prepareBody }, true],
	['another field', { fields: { ...shown, video_url: 'https://example.com/1.mp4' } }, true],
	['another field that is not set', { fields: { ...shown, seed: undefined } }, false],
])('has inputs that the history does not show, or has none: %s', (_, order, expected) => {
	expect(hasHiddenInputs({ generation: GENERATIONS.textToVideo, ...order })).toBe(expected);
});
