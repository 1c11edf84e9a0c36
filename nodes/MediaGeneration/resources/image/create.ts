import type { Item, Job } from '../../run';
import { generationJob, readGenerationFields } from '../generation';
import { IMAGE_TIMEOUT_SECONDS } from './index';

/** Image → Create (§4.8). */
export function createImage(item: Item): Job {
	const request = { prompt: item.fields.text('prompt', 'Prompt') };
	return generationJob(item, {
		generation: 'image',
		kind: 'image',
		prompt: request.prompt,
		expected: 1,
		body: async () => ({ bytes: Buffer.from(JSON.stringify(request), 'utf8') }),
		options: readGenerationFields(item.fields, IMAGE_TIMEOUT_SECONDS),
	});
}
