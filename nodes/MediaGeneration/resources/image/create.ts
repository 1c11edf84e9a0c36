import { GENERATIONS } from '../../../shared/contract';
import { promptField } from '../../../shared/n8n/descriptions';
import { generationFields, generationTask } from '../../run/generationTask';
import type { Operation } from '../../run/operation';

const imagePromptField = promptField(
	'e.g. A lighthouse at dawn, watercolor',
	'Describe the image: subject, style, mood',
);

/** Image → Text to Image (§4.8): generates one image. It is charged. */
export const createImage: Operation = {
	option: {
		name: 'Text to Image',
		value: 'create',
		description: 'Generate an image from a text prompt',
		action: 'Generate image from text',
	},
	fields: [imagePromptField, ...generationFields('image')],
	prepare(item) {
		const prompt = item.parameters.text(imagePromptField);
		return generationTask(item, { generation: GENERATIONS.image, fields: { prompt } });
	},
};
