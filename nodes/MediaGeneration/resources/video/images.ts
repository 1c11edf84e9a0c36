import type { IBinaryData } from 'n8n-workflow';
import { Failure, invalidInput } from '../../../shared/failure';
import { download as downloadFile } from '../../../shared/http/download';
import { wordingOf } from '../../../shared/n8n/messages';
import { isImage } from '../../../shared/parsing/fileType';
import { asWebUrl, isRecord, parseJson } from '../../../shared/parsing/values';
import { memoryBudget, readStored, sizeOfStored } from '../../../shared/n8n/storedFile';
import type { GenerationOrder } from '../../run/generationRecord';
import type { ItemContext } from '../../run/itemContext';

/* Input images → the base64 array of a create call (§4.6, §4.7). */

/** Largest encoded request body, in bytes: neither n8n nor the service can be expected to cope with more. */
const MAX_BODY_BYTES = 512 * 1024 * 1024;

const UNTYPED = new Set(['', 'application/octet-stream', 'binary/octet-stream']);

interface Image<Data = IBinaryData> {
	/** Its name in messages. */
	field: string;
	data: Data;
	/** Its type says that it is an image. */
	isTyped: boolean;
}

/**
 * Names and addresses in a text. An address may hold commas, and ends before white space or before the
 * next address.
 */
const NAMES = /https?:\/\/\S+?(?=,?(?:\s|$)|,https?:\/\/)|[^,\s][^,\n]*/gi;

/** The names, addresses and files that a field holds, in order: an expression may give lists of them. */
function givenIn(raw: unknown): Array<string | IBinaryData> {
	if (isRecord(raw) && typeof raw.mimeType === 'string') return [raw as unknown as IBinaryData];
	if (typeof raw === 'object') return Object.values(raw ?? {}).flatMap(givenIn);
	const list = parseJson(String(raw));
	if (Array.isArray(list)) return givenIn(list);
	return (String(raw).match(NAMES) ?? []).map((name) => name.trim());
}

const badImage = (field: string, text: string) => new Failure('badImage', { field, text });

/**
 * Finds the images in an item's fields, or at addresses. `displayName` is that of the parameter that names them,
 * `requestField` the field of the request that takes them. Throws a Failure that names the missing or
 * unfit one.
 *
 * Returns what fetches those that have an address, throws a Failure if they are too large, and makes the JSON
 * body, such as `{ "frames": ["<base64>", …], …rest }`, once there is room for it: that throws a Failure that
 * names an unfit image, or the signal's reason.
 */
export function inputImagesOf(
	item: ItemContext,
	displayName: string,
	requestField: 'ingredients' | 'frames',
) {
	const { context, index, parameters } = item;
	const names = givenIn(parameters.raw('binaryPropertyName', 'data') ?? '');
	if (names.length === 0) {
		const text = 'is empty: enter the name of an input field that holds an image';
		throw invalidInput(displayName, text);
	}
	const images = names.map(imageIn);

	return async (
		remaining: Record<string, string>,
		signal: AbortSignal,
	): ReturnType<GenerationOrder['body']> => {
		const fetching = images.map(async (image) => await fetched(image, signal));
		const stored = await Promise.all(fetching);
		const sizes = stored.map(async ({ data }) => await sizeOfStored(context.helpers, data));
		const total = (await Promise.all(sizes)).reduce((sum, size) => sum + (size / 3) * 4, 0);
		if (total > MAX_BODY_BYTES) {
			const megabytes = Math.round(total / 1024 / 1024);
			throw invalidInput(
				displayName,
				`add up to ${megabytes} MB when encoded, more than can be sent at once: use fewer or smaller images`,
			);
		}
		return async (body, inTime) => {
			// The encoded images, and the body that is made of them.
			body.release = await memoryBudget().acquire(2 * total, inTime);
			body.bytes = await bodyOf(stored, remaining);
		};
	};

	function imageIn(one: string | IBinaryData): Image<IBinaryData | URL> {
		const field = typeof one === 'string' ? one : 'file';
		const url = asWebUrl(field);
		// Its query may be a signature.
		if (url) return { field: url.origin + url.pathname, data: url, isTyped: false };
		const data = dataOf(one, field);
		const { mimeType = '', fileName, id, bytes } = data;
		if (bytes === 0 || (id === undefined && data.data === '')) {
			throw badImage(displayName, `The file in '${field}' is empty`);
		}
		const type = mimeType.split(';')[0]!.trim().toLowerCase();
		const isTyped = !UNTYPED.has(type);
		if (isTyped && !type.startsWith('image/')) {
			const name = fileName ? ` (${fileName})` : '';
			throw badImage(displayName, `The file in '${field}'${name} is not an image but ${type}`);
		}
		return { field, data, isTyped };
	}

	/** An image in n8n's storage, as other files get there. */
	async function fetched(
		{ field, data, isTyped }: Image<IBinaryData | URL>,
		signal: AbortSignal,
	): Promise<Image> {
		if (!(data instanceof URL)) return { field, data, isTyped };
		const maxBytes = (MAX_BODY_BYTES / 4) * 3;
		const file = { url: data.href, kind: 'image', id: 'input', maxBytes } as const;
		const download = downloadFile(context, item.credential, file, signal);
		const stored = await download.catch((error: unknown) => {
			// It would name the address as that of a result.
			if (!(error instanceof Failure) || error.kind === 'canceled') throw error;
			const reason =
				(error.kind === 'downloadFailed' && error.facts.text) || wordingOf(error).message;
			throw badImage(displayName, `The image at ${field} could not be fetched: ${reason}`);
		});
		return { field, data: stored, isTyped };
	}

	function dataOf(one: string | IBinaryData, field: string): IBinaryData {
		const { json, binary } = context.getInputData()[index]!;
		// n8n's combined binary mode keeps the files of an item in here.
		const inJson = isRecord(json._files) ? (json._files as typeof binary) : undefined;
		const files = { ...binary, ...inJson };
		// Where n8n keeps files in memory, `$binary` tells all of a file but its data.
		const isLike = (file: object) =>
			Object.entries(one).every(([key, value]) => file[key as never] === value);
		const like = typeof one === 'string' ? [] : Object.values(files).filter(isLike);
		const named = like.length === 1 ? like[0]! : one;
		try {
			return context.helpers.assertBinaryData(index, inJson?.[one as string] ?? named);
		} catch {
			const has = Object.keys(files).join(', ');
			const all = has ? `This item's files: ${has}` : 'This item has no files';
			throw badImage(displayName, `No file in '${field}'. ${all}`);
		}
	}

	async function bodyOf(images: Image[], remaining: Record<string, string>): Promise<Buffer> {
		const json = JSON.stringify({ [requestField]: [], ...remaining });
		const inside = json.indexOf('[') + 1;
		const parts: Uint8Array[] = [];
		for (const image of images) {
			const before = parts.length === 0 ? `${json.slice(0, inside)}"` : '","';
			parts.push(Buffer.from(before), await encoded(image));
		}
		return Buffer.concat([...parts, Buffer.from(`"${json.slice(inside)}`)]);
	}

	/** An image as base64; one of unknown type is judged by its bytes. */
	async function encoded({ field, data, isTyped }: Image): Promise<Buffer> {
		const bytes = await readStored(context.helpers, data);
		if (isTyped || isImage(bytes)) return Buffer.from(bytes.toString('base64'), 'latin1');
		throw badImage(displayName, `The file in '${field}' is not an image`);
	}
}
