import { asText } from '../../../shared/parsing/coerce';
import { encodeImages, readImages } from './images';
import type { Item, Job } from '../../run';
import { generationJob, readGenerationFields } from '../generation';
import { VIDEO_TIMEOUT_SECONDS } from './fields';

/** Video → Frames to Video (§4.7); a prompt is sent only when there is one. */
export function framesToVideo(item: Item): Job {
	const prompt = asText(item.fields.options.prompt);
	const images = readImages(item);
	return generationJob(item, {
		generation: 'framesToVideo',
		kind: 'video',
		prompt: prompt ?? '',
		expected: 1,
		body: async (signal) =>
			await encodeImages(item, 'frames', images, prompt ? { prompt } : {}, signal),
		options: readGenerationFields(item.fields, VIDEO_TIMEOUT_SECONDS),
	});
}
