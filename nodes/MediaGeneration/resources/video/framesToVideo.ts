import { updateDisplayOptions } from 'n8n-workflow';
import {
	concurrency,
	download,
	idleTimeout,
	maxPaid,
	inputImages,
	optionalPrompt,
	options,
	outputField,
	timeout,
} from '../../../shared/n8n/descriptions';
import { asText } from '../../../shared/parsing/coerce';
import { encodeImages, readImages } from './images';
import type { Item } from '../../item';
import type { Job } from '../../made';
import { generationJob } from '../generation';

export const framesToVideoDescription = updateDisplayOptions(
	{ show: { resource: ['video'], operation: ['framesToVideo'] } },
	[
		inputImages('Frames', 'The images that the video moves through, in this order'),
		download,
		options(
			concurrency,
			idleTimeout,
			maxPaid,
			optionalPrompt('e.g. Slow camera pan', 'What should happen between the frames'),
			outputField,
			timeout('video'),
		),
	],
);

/** Video → Frames to Video (§4.7); a prompt is sent only when there is one. */
export function framesToVideo(item: Item): Job {
	const prompt = asText(item.parameters.options.prompt);
	const images = readImages(item);
	return generationJob(item, {
		generation: 'framesToVideo',
		prompt: prompt ?? '',
		expected: 1,
		body: async (signal) =>
			await encodeImages(item, 'frames', images, prompt ? { prompt } : {}, signal),
	});
}
