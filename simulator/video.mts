import { startGeneration, toWireItem, type CheckedGeneration } from './generation.mts';
import {
	bodyOf,
	pageOf,
	errorReply,
	refusalOfCreateCall,
	type Call,
	type Reply,
} from './replies.mts';
import { scenariosIn } from './scenarios.mts';
import type { Simulator } from './state.mts';

const LANDSCAPE = 'VIDEO_ASPECT_RATIO_LANDSCAPE';
const PORTRAIT = 'VIDEO_ASPECT_RATIO_PORTRAIT';

/** Answers a call about generations (§6.1), the history (§4.9) or the account (§4.10); undefined if it is none. */
export function answerVideoAreaCall(sim: Simulator, call: Call): Reply | undefined {
	switch (`${call.method} ${call.path}`) {
		case 'POST /v1/video/text-to-video':
			return generate(sim, call, 'video');
		case 'POST /v1/video/ingredients-to-video':
			return generate(sim, call, 'video', 'ingredients');
		case 'POST /v1/video/frames-to-video':
			return generate(sim, call, 'video', 'frames');
		case 'POST /v1/video/create-image':
			return generate(sim, call, 'image');
		case 'GET /v1/video/histories':
			return listHistory(sim, call);
		case 'GET /v1/video/me':
			return { status: 200, body: accountFields(sim) };
		default:
			return undefined;
	}
}

/** Checks a request for a generation (§6.1) and starts it. */
function generate(
	sim: Simulator,
	call: Call,
	kind: CheckedGeneration['kind'],
	images?: 'ingredients' | 'frames',
): Reply {
	const body = bodyOf(call);
	const prompt = body.prompt ?? (images === 'frames' ? '' : undefined);
	if (typeof prompt !== 'string' || (prompt.trim() === '' && images !== 'frames')) {
		return errorReply(400, 'prompt_required');
	}
	// §4.5 requires the aspect ratio and the number of videos, but deployments may accept a request without them.
	const ratio = (kind === 'video' ? body.aspect_ratio : undefined) ?? LANDSCAPE;
	if (ratio !== LANDSCAPE && ratio !== PORTRAIT) {
		return errorReply(400, 'invalid_aspect_ratio');
	}
	const count = kind === 'video' ? (body.number_of_videos ?? 1) : 1;
	if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > 4) {
		return errorReply(400, 'invalid_number_of_videos');
	}
	if (images) {
		const imageList = body[images];
		if (!Array.isArray(imageList) || imageList.length === 0) {
			return errorReply(400, `${images}_required`);
		}
		if (!imageList.every(isBase64Image)) return errorReply(400, 'invalid_image');
	}
	const scenarios = scenariosIn(prompt);
	const refusalReply = refusalOfCreateCall(sim, call, scenarios);
	if (refusalReply) return refusalReply;
	const job = startGeneration(sim, call, {
		kind,
		prompt,
		aspectRatio: String(ratio),
		count,
		hasImages: images !== undefined,
	});
	return { job, plainJson: scenarios.has('plain-json') };
}

/** True if a value is a PNG, JPEG or WebP file as padded base64, without the prefix of a data URL. */
function isBase64Image(value: unknown): boolean {
	if (typeof value !== 'string' || value.length % 4 !== 0) return false;
	// A regular expression may overflow the stack on a value of many megabytes. Instead, the value is decoded and
	// encoded again.
	if (Buffer.from(value, 'base64').toString('base64') !== value) return false;
	const start = Buffer.from(value.slice(0, 24), 'base64').toString('latin1');
	return (
		start.startsWith('\x89PNG\r\n\x1a\n') ||
		start.startsWith('\xff\xd8\xff') ||
		(start.startsWith('RIFF') && start.slice(8, 12) === 'WEBP')
	);
}

/** Returns one page of the history (§4.9) in the JSON of the dialect. */
function listHistory(sim: Simulator, call: Call): Reply {
	const all = sim.history.filter((item) => (item.owner ?? call.token) === call.token);
	const page = pageOf(sim, call, all, 1);
	if ('status' in page) return page;
	const data = page.items.map((item) => toWireItem(sim, item));
	if (sim.dialect.history === 'array') return { status: 200, body: data };
	const toWireNumber = (value: number) =>
		sim.dialect.historyNumbersAsStrings ? String(value) : value;
	const body = {
		data,
		total: toWireNumber(all.length),
		page: toWireNumber(page.page),
		page_size: toWireNumber(page.page_size),
		total_pages: toWireNumber(Math.ceil(all.length / page.page_size)),
	};
	return { status: 200, body };
}

/** Returns the account (§4.10) in the fields of the dialect. */
function accountFields(sim: Simulator): Record<string, unknown> {
	const total = sim.options.credits ?? 1000;
	const remaining = Math.max(0, total - sim.chargedCalls);
	if (sim.dialect.account === 'quota') {
		return { total_quota: total, used_quota: total - remaining, available_quota: remaining };
	}
	const expiresAt = new Date(Date.now() + 30 * 86_400_000).toISOString();
	return { balance: 0, credits: [{ amount: remaining, expire_at: expiresAt }] };
}
