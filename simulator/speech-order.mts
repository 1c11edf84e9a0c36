import { bodyOf, errorReply, type Call, type PlainReply } from './replies.mts';
import type { TaskRecord } from './types.mts';
import type { Simulator } from './state.mts';

const MODELS = ['labs_multilingual_v2', 'labs_turbo_v2_5', 'labs_flash_v2_5', 'labs_v3'];

/** The settings of shape A (§4.1): name, default, minimum and maximum. */
const SETTINGS = [
	['stability', 0.75, 0, 1],
	['similarity', 0.5, 0, 1],
	['style', 0, 0, 1],
	['speed', 1, 0.7, 1.2],
] as const;

/** A checked request for speech. */
export type SpeechOrder = Pick<
	TaskRecord,
	'input' | 'voiceId' | 'modelId' | 'settings' | 'callBackUrl'
>;

/**
 * Checks the body of a create call. It may have one of two shapes, A or B (§4.1). Returns the checked request, or the
 * answer that refuses it.
 */
export function readOrder(sim: Simulator, call: Call): SpeechOrder | PlainReply {
	let body = bodyOf(call);
	// The contract leaves open what a body with the fields of both shapes means. Here, `input` makes it shape A.
	if (body.input === undefined && body.text !== undefined) body = fromShapeB(body);
	const { input, voice_id: voiceId, model_id: modelId, call_back_url: callBackUrl } = body;
	if (typeof input !== 'string' || input.trim() === '') {
		return errorReply(400, 'input_required');
	}
	if (typeof voiceId !== 'string' || !sim.voices.some((voice) => voice.voice_id === voiceId)) {
		return errorReply(400, 'invalid_voice_id');
	}
	if (typeof modelId !== 'string' || !MODELS.includes(modelId)) {
		return errorReply(400, 'invalid_model_id');
	}
	const settings: Record<string, unknown> = {};
	for (const [name, defaultValue, min, max] of SETTINGS) {
		const value = body[name] ?? defaultValue;
		if (typeof value !== 'number' || value < min || value > max) {
			return errorReply(400, `invalid_${name}`);
		}
		settings[name] = value;
	}
	settings.use_speaker_boost = body.use_speaker_boost ?? true;
	if (typeof settings.use_speaker_boost !== 'boolean') {
		return errorReply(400, 'invalid_use_speaker_boost');
	}
	if (callBackUrl === undefined || callBackUrl === null || callBackUrl === '') {
		return { input, voiceId, modelId, settings };
	}
	if (typeof callBackUrl !== 'string' || !isWebUrl(callBackUrl)) {
		return errorReply(400, 'invalid_call_back_url');
	}
	return { input, voiceId, modelId, settings, callBackUrl };
}

/** Converts a body of shape B to shape A. */
function fromShapeB(body: Record<string, unknown>): Record<string, unknown> {
	const nested = body.voice_settings;
	const settings = typeof nested === 'object' && nested !== null ? { ...nested } : {};
	const { similarity_boost: similarity, ...fields } = settings as Record<string, unknown>;
	const { text: input, voice_id, model_id = MODELS[0] } = body;
	return { ...fields, similarity, input, voice_id, model_id };
}

/** True for an http(s) URL. */
function isWebUrl(value: string): boolean {
	return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}
