import { encodeImages, readImages } from './images';
import type { Item, Job } from '../../run';
import { generationJob, readGenerationFields } from '../generation';
import { VIDEO_TIMEOUT_SECONDS } from './fields';

/** Video → Ingredients to Video (§4.6). */
export function ingredientsToVideo(item: Item): Job {
	const prompt = item.fields.text('prompt', 'Prompt');
	const images = readImages(item);
	return generationJob(item, {
		generation: 'ingredientsToVideo',
		kind: 'video',
		prompt,
		expected: 1,
		body: async (signal) => await encodeImages(item, 'ingredients', images, { prompt }, signal),
		options: readGenerationFields(item.fields, VIDEO_TIMEOUT_SECONDS),
	});
}
