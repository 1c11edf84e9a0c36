import { GENERATIONS } from '../../../shared/contract';
import { inputImages, prompt } from '../../../shared/n8n/descriptions';
import { generationFields, generationJob } from '../../run/generationJob';
import type { Operation } from '../../run/itemContext';
import { inputImagesOf } from './images';

const framesPrompt = prompt('e.g. Slow camera pan', 'What should happen between the images', false);

/** Video → Ordered Images to Video (§4.7); a prompt is sent only when there is one. */
export const framesToVideo: Operation = {
	option: {
		name: 'Ordered Images to Video',
		value: 'framesToVideo',
		description: 'Generate a video that moves through your images in order',
		action: 'Generate video from images in order',
	},
	fields: [
		inputImages('Images, in Order', 'The images that the video moves through, in this order'),
		...generationFields('video', framesPrompt),
	],
	prepare(item) {
		const text = item.parameters.textOption(framesPrompt);
		const bodyOf = inputImagesOf(item, 'Images, in Order', 'frames');
		return generationJob(item, {
			generation: GENERATIONS.framesToVideo,
			prompt: text ?? '',
			requestedCount: 1,
			body: async (signal) => await bodyOf(text ? { prompt: text } : {}, signal),
		});
	},
};
