import type { INodeProperties } from 'n8n-workflow';
import {
	ASPECT_RATIO_ALIASES,
	ASPECT_RATIOS,
	GENERATIONS,
	NUMBER_OF_VIDEOS,
} from '../../../shared/contract';
import { videoPromptField, type NumberField } from '../../../shared/n8n/descriptions';
import { generationFields, generationTask } from '../../run/generationTask';
import type { Operation } from '../../run/operation';

const [LANDSCAPE, PORTRAIT] = ASPECT_RATIOS;

const aspectRatioField: INodeProperties = {
	displayName: 'Aspect Ratio',
	name: 'aspectRatio',
	type: 'options',
	options: [
		{ name: 'Landscape (16:9)', value: LANDSCAPE },
		{ name: 'Portrait (9:16)', value: PORTRAIT },
	],
	default: LANDSCAPE,
	description:
		"The video's aspect ratio. An expression can also give 16:9, 9:16, landscape or portrait.",
};

/* n8n's lint accepts only a literal or a plain variable as the default of a field. */
const { min: minValue, max: maxValue, default: defaultValue } = NUMBER_OF_VIDEOS;

const numberOfVideosField: NumberField = {
	displayName: 'Number of Videos',
	name: 'numberOfVideos',
	type: 'number',
	typeOptions: { minValue, maxValue, numberPrecision: 0 },
	default: defaultValue,
	description:
		'How many videos to generate from the prompt. Each one is charged, and becomes a separate output item.',
};

/** Video → Text to Video (§4.5): generates videos with one create call. Each video is charged. */
export const textToVideo: Operation = {
	option: {
		name: 'Text to Video',
		value: 'textToVideo',
		description: 'Generate one or more videos from a text prompt',
		action: 'Generate videos from text',
	},
	fields: [videoPromptField, aspectRatioField, numberOfVideosField, ...generationFields('video')],
	prepare(item) {
		const { parameters } = item;
		const fields = {
			prompt: parameters.text(videoPromptField),
			aspect_ratio: parameters.choice(aspectRatioField, ASPECT_RATIOS, ASPECT_RATIO_ALIASES),
			number_of_videos: parameters.number(numberOfVideosField),
		};
		return generationTask(item, { generation: GENERATIONS.textToVideo, fields });
	},
};
