import { GENERATIONS } from '../../../shared/contract';
import { inputImages, videoPrompt } from '../../../shared/n8n/descriptions';
import { generationFields, generationJob } from '../../run/generationJob';
import type { Operation } from '../../run/itemContext';
import { inputImagesOf } from './images';

/** Video → Reference Images to Video (§4.6). */
export const ingredientsToVideo: Operation = {
	option: {
		name: 'Reference Images to Video',
		value: 'ingredientsToVideo',
		description: 'Generate a video that contains what your images show',
		action: 'Generate video from reference images',
	},
	fields: [
		videoPrompt,
		inputImages('Reference Images', 'People, things or places that the video should contain'),
		...generationFields('video'),
	],
	prepare(item) {
		const prompt = item.parameters.text('prompt', 'Prompt');
		const bodyOf = inputImagesOf(item, 'Reference Images', 'ingredients');
		return generationJob(item, {
			generation: GENERATIONS.ingredientsToVideo,
			prompt,
			requestedCount: 1,
			body: async (signal) => await bodyOf({ prompt }, signal),
		});
	},
};
