import { updateDisplayOptions } from 'n8n-workflow';
import {
	concurrency,
	download,
	idleTimeout,
	maxPaid,
	inputImages,
	options,
	outputField,
	timeout,
	videoPrompt,
} from '../../../shared/n8n/descriptions';
import { encodeImages, readImages } from './images';
import type { Item } from '../../item';
import type { Job } from '../../made';
import { generationJob } from '../generation';

export const ingredientsToVideoDescription = updateDisplayOptions(
	{ show: { resource: ['video'], operation: ['ingredientsToVideo'] } },
	[
		videoPrompt,
		inputImages(
			'Ingredients',
			'Images of the people, things or places that the video should contain',
		),
		download,
		options(concurrency, idleTimeout, maxPaid, outputField, timeout('video')),
	],
);

/** Video → Ingredients to Video (§4.6). */
export function ingredientsToVideo(item: Item): Job {
	const prompt = item.parameters.text('prompt', 'Prompt');
	const images = readImages(item);
	return generationJob(item, {
		generation: 'ingredientsToVideo',
		prompt,
		expected: 1,
		body: async (signal) => await encodeImages(item, 'ingredients', images, { prompt }, signal),
	});
}
