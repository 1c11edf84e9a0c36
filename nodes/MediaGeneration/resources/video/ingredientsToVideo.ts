import { GENERATIONS } from '../../../shared/contract';
import { inputImagesField, videoPromptField } from '../../../shared/n8n/descriptions';
import { generationFields, generationTask } from '../../run/generationTask';
import type { Operation } from '../../run/operation';
import { imageBodyPreparer } from './images';

/** Video → Reference Images to Video (§4.6): generates one video. It is charged. */
export const ingredientsToVideo: Operation = {
	option: {
		name: 'Reference Images to Video',
		value: 'ingredientsToVideo',
		description: 'Generate a video in which the people, things or places in your images appear',
		action: 'Generate video from reference images',
	},
	fields: [
		videoPromptField,
		inputImagesField(
			'Reference Images',
			'Images of people, things or places that should appear in the video',
		),
		...generationFields('video'),
	],
	prepare(item) {
		return generationTask(item, {
			generation: GENERATIONS.ingredientsToVideo,
			fields: { prompt: item.parameters.text('prompt', 'Prompt') },
			prepareBody: imageBodyPreparer(item, 'Reference Images', 'ingredients'),
		});
	},
};
