import { ASPECT_RATIOS, NUMBER_OF_VIDEOS } from '../../../shared/contract';
import { requireNumber } from '../../../shared/n8n/parameters';
import type { Item, Job } from '../../run';
import { generationJob, readGenerationFields } from '../generation';
import { VIDEO_TIMEOUT_SECONDS } from './fields';

/** Video → Text to Video (§4.5). */
export function textToVideo(item: Item): Job {
	const { fields } = item;
	const request = {
		prompt: fields.text('prompt', 'Prompt'),
		aspect_ratio: fields.choice('aspectRatio', 'Aspect Ratio', ASPECT_RATIOS),
		number_of_videos: requireNumber(fields.raw('numberOfVideos', 1), 'Number of Videos', {
			...NUMBER_OF_VIDEOS,
			whole: true,
		}),
	};
	return generationJob(item, {
		generation: 'textToVideo',
		kind: 'video',
		prompt: request.prompt,
		expected: request.number_of_videos,
		aspectRatio: request.aspect_ratio,
		body: async () => ({ bytes: Buffer.from(JSON.stringify(request), 'utf8') }),
		options: readGenerationFields(fields, VIDEO_TIMEOUT_SECONDS),
	});
}
