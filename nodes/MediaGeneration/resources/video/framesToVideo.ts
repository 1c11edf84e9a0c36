import { GENERATIONS } from '../../../shared/contract';
import { inputImagesField, promptField } from '../../../shared/n8n/descriptions';
import { generationFields, generationTask } from '../../run/generationTask';
import type { Operation } from '../../run/operation';
import { imageBodyPreparer } from './images';

const framesPromptField = promptField(
	'e.g. Slow camera pan',
	'How to get from one image to the next',
	false,
);

const imagesField = inputImagesField(
	'Images (in Order)',
	'The images that the video goes through, in the order in which you list them',
);

/** Video → Image Sequence to Video (§4.7): generates one video. It is charged. */
export const framesToVideo: Operation = {
	option: {
		name: 'Image Sequence to Video',
		value: 'framesToVideo',
		description: 'Generate a video that goes through your images, from the first to the last',
		action: 'Generate video from image sequence',
	},
	fields: [imagesField, ...generationFields('video', framesPromptField)],
	prepare(item) {
		return generationTask(item, {
			generation: GENERATIONS.framesToVideo,
			fields: { prompt: item.parameters.textOption(framesPromptField) },
			prepareBody: imageBodyPreparer(item, imagesField, 'frames'),
		});
	},
};
