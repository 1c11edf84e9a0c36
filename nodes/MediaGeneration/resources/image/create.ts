import { updateDisplayOptions } from 'n8n-workflow';
import {
	concurrency,
	download,
	idleTimeout,
	maxPaid,
	options,
	outputField,
	prompt,
	timeout,
} from '../../../shared/n8n/descriptions';
import type { Item } from '../../item';
import type { Job } from '../../made';
import { generationJob } from '../generation';

export const createImageDescription = updateDisplayOptions(
	{ show: { resource: ['image'], operation: ['create'] } },
	[
		prompt('e.g. A lighthouse at dawn, watercolor', 'What the image should show'),
		download,
		options(concurrency, idleTimeout, maxPaid, outputField, timeout('image')),
	],
);

/** Image → Create (§4.8). */
export function createImage(item: Item): Job {
	const request = { prompt: item.parameters.text('prompt', 'Prompt') };
	return generationJob(item, {
		generation: 'image',
		prompt: request.prompt,
		expected: 1,
		body: async () => ({ bytes: Buffer.from(JSON.stringify(request), 'utf8') }),
	});
}
