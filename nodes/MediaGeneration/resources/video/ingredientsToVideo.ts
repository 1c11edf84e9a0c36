import { GENERATIONS } from '../../../shared/contract';
import { inputImagesField, videoPromptField } from '../../../shared/n8n/descriptions';
import { generationFields, generationTask } from '../../run/generationTask';
import type { Operation } from '../../run/operation';
import { imageBodyPreparer } from './images';

const imagesField = inputImagesField(
	'Reference Images',
	'Images of people, things or places that should appear in the video',
);

/** Video → Reference Images to Video (§4.6): generates one video. It is charged. */
export const ingredientsToVideo: Operation = {
	option: {
		name: 'Reference Images to Video',
		value: 'ingredientsToVideo',
		description: 'Generate a video in which the people, things or places in your images appear',
		action: 'Generate video from reference images',
	},
	fields: [videoPromptField, imagesField, ...generationFields('video')],
	prepare(item) {
		return generationTask(item, {
			generation: GENERATIONS.ingredientsToVideo,
			fields: { prompt: item.parameters.text(videoPromptField) },
			prepareBody: imageBodyPreparer(item, imagesField, 'ingredients'),
		});
	},
};
