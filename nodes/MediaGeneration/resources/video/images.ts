import type { IBinaryData } from 'n8n-workflow';
import { Failure, invalidInput } from '../../../shared/failure';
import { isImage } from '../../../shared/parsing/fileType';
import { asText, isRecord } from '../../../shared/parsing/coerce';
import { memory, readStored, sizeOfStored } from '../../../shared/n8n/storedFile';
import type { GenerationOrder } from '../../run/generationRecord';
import type { Work } from '../../run/work';

/* Input images → the base64 array of a create call (§4.6, §4.7). */

/** Largest encoded request body, in bytes: neither n8n nor the service can be expected to cope with more. */
const MAX_BODY_BYTES = 512 * 1024 * 1024;

const UNTYPED = new Set(['', 'application/octet-stream', 'binary/octet-stream']);

interface Image {
	field: string;
	data: IBinaryData;
	/** Its type says that it is an image. */
	isTyped: boolean;
}

const badImage = (field: string, text: string) => new Failure('badImage', { field, text });

/**
 * Finds the images in an item's fields. `displayName` is that of the parameter that names them,
 * `requestField` the field of the request that takes them. Throws a Failure that names the missing or
 * unfit one.
 *
 * Returns what throws a Failure if they are too large, and makes the JSON body, such as
 * `{ "frames": ["<base64>", …], …rest }`, once there is room for it: that throws a Failure that names an
 * unfit image, or the signal's reason.
 */
export function inputImagesOf(
	work: Work,
	displayName: string,
	requestField: 'ingredients' | 'frames',
) {
	const { context, index, parameters } = work;
	const raw = parameters.raw('binaryPropertyName', 'data');
	const names = (asText(raw) ?? '').split(',').map((name) => name.trim());
	// An expression may also give the file itself.
	const given = isRecord(raw) ? [raw as unknown as IBinaryData] : names.filter(Boolean);
	if (given.length === 0) {
		const text = 'is empty: enter the name of an input field that holds an image';
		throw invalidInput(displayName, text);
	}
	const images = given.map(imageIn);

	return async (rest: Record<string, string>): ReturnType<GenerationOrder['body']> => {
		const sizes = images.map(async ({ data }) => await sizeOfStored(context.helpers, data));
		const total = (await Promise.all(sizes)).reduce((sum, size) => sum + (size / 3) * 4, 0);
		if (total > MAX_BODY_BYTES) {
			const megabytes = Math.round(total / 1024 / 1024);
			throw invalidInput(
				displayName,
				`add up to ${megabytes} MB when encoded, more than can be sent at once: use fewer or smaller images`,
			);
		}
		return async (body, signal) => {
			// The encoded images, and the body that is made of them.
			body.release = await memory().acquire(2 * total, signal);
			body.bytes = await bodyOf(rest);
		};
	};

	function imageIn(one: string | IBinaryData): Image {
		const field = typeof one === 'string' ? one : 'file';
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

	function dataOf(one: string | IBinaryData, field: string): IBinaryData {
		try {
			return context.helpers.assertBinaryData(index, one);
		} catch {
			const fields = Object.keys(context.getInputData()[index]!.binary ?? {}).join(', ');
			const has = fields ? `This item's files: ${fields}` : 'This item has no files';
			throw badImage(displayName, `No file in '${field}'. ${has}`);
		}
	}

	async function bodyOf(rest: Record<string, string>): Promise<Buffer> {
		const json = JSON.stringify({ [requestField]: [], ...rest });
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
