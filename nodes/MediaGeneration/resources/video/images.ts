import type { IBinaryData } from 'n8n-workflow';
import { Failure, invalidInput } from '../../../shared/failure';
import { INPUT_FIELD } from '../../../shared/n8n/descriptions';
import { isImage } from '../../../shared/parsing/fileType';
import type { GenerationBody } from '../../../shared/generation/generation';
import { asText } from '../../../shared/parsing/coerce';
import type { Item } from '../../run/item';
import { sizeOfStored } from '../../../shared/n8n/storedFile';

/* Input images → the base64 array of a create call (§4.6, §4.7), with one encoded copy in memory. */

/** Largest encoded request body, in bytes: neither n8n nor the service can be expected to cope with more. */
const MAX_BODY_BYTES = 512 * 1024 * 1024;
/** Encoded at a time, in bytes: divisible by 3, so that base64 needs no padding in between. */
const STEP_BYTES = 48 * 1024;

const UNTYPED = new Set(['', 'application/octet-stream', 'binary/octet-stream']);

export interface Image {
	field: string;
	data: IBinaryData;
}

/** The parameter that names the images; in lower case, the field of the request that takes them. */
type Taker = 'Ingredients' | 'Frames';

/** The images in the item's fields; throws a Failure that names the missing or unfit one. */
export function readImages(item: Item, displayName: Taker): Image[] {
	const raw = item.parameters.raw('binaryPropertyName', INPUT_FIELD);
	const { helpers } = item.run.context;
	// An expression may also give the file itself.
	if (typeof raw === 'object' && raw !== null) {
		const data = helpers.assertBinaryData(item.index, raw as IBinaryData);
		return [checked({ field: 'file', data }, displayName)];
	}
	const names = (asText(raw) ?? '').split(',').map((name) => name.trim());
	const fields = names.filter((name) => name !== '');
	if (fields.length === 0) {
		const text = 'is empty: enter the name of an input field that holds an image';
		throw invalidInput(displayName, text);
	}
	return fields.map((field) => {
		let data: IBinaryData;
		try {
			data = helpers.assertBinaryData(item.index, field);
		} catch {
			throw missing(item, field, displayName);
		}
		return checked({ field, data }, displayName);
	});
}

const badImage = (displayName: Taker, text: string) =>
	new Failure('badImage', { field: displayName, text });

/** How many of the fields that an item does have are named. */
const MAX_NAMED = 10;

function missing(item: Item, field: string, displayName: Taker): Failure {
	const { binary = {} } = item.run.context.getInputData()[item.index]!;
	const names = Object.keys(binary);
	const more = names.length > MAX_NAMED ? ', …' : '';
	const has =
		names.length > 0
			? `This item's files: ${names.slice(0, MAX_NAMED).join(', ')}${more}`
			: 'This item has no files';
	return badImage(displayName, `No file in '${field}'. ${has}`);
}

function checked(image: Image, displayName: Taker): Image {
	const { mimeType, fileName, id, data, bytes } = image.data;
	if (bytes === 0 || (id === undefined && data === '')) {
		throw badImage(displayName, `The file in '${image.field}' is empty`);
	}
	const type = mimeType?.split(';')[0]!.trim().toLowerCase() ?? '';
	// A file of unknown type is judged by its bytes: now if they are in memory, else when they are read.
	if (UNTYPED.has(type) && id === undefined && !isImage(Buffer.from(data.slice(0, 64), 'base64'))) {
		throw badImage(displayName, `The file in '${image.field}' is not an image`);
	}
	if (!type.startsWith('image/') && !UNTYPED.has(type)) {
		const name = fileName ? ` (${fileName})` : '';
		throw badImage(displayName, `The file in '${image.field}'${name} is not an image but ${type}`);
	}
	return image;
}

/**
 * The JSON body, such as `{ "frames": ["<base64>", …], …rest }`, written straight into one buffer while
 * the images are read as streams, once the run has room for it. Throws a Failure that names an empty
 * or unfit image or says that they are too large, or the signal's reason.
 */
export async function encodeImages(
	item: Item,
	displayName: Taker,
	images: Image[],
	rest: Record<string, string>,
	signal: AbortSignal,
): Promise<GenerationBody> {
	const lengths = await encodedLengths(item, displayName, images);
	const json = JSON.stringify({ [displayName.toLowerCase()]: [], ...rest });
	const inside = json.indexOf('[') + 1;
	// Each image has two quotes and a comma around it.
	const total = lengths.reduce((sum, length) => sum + length + 3, Buffer.byteLength(json));
	if (total > MAX_BODY_BYTES) {
		const megabytes = Math.round(total / 1024 / 1024);
		throw invalidInput(
			displayName,
			`add up to ${megabytes} MB when encoded, more than can be sent at once: use fewer or smaller images`,
		);
	}

	const release = await item.run.bodies.acquire(total, signal);
	const write = async () => {
		const body = Buffer.allocUnsafe(total);
		let at = body.write(json.slice(0, inside));
		for (const [index, image] of images.entries()) {
			at += body.write(index === 0 ? '"' : ',"', at);
			const start = at;
			at = await encodeInto(body, at, item, image);
			checkEncoded(image, displayName, body.subarray(start, at), lengths[index]!);
			at += body.write('"', at);
		}
		at += body.write(json.slice(inside), at);
		return { bytes: body.subarray(0, at), release };
	};
	return await write().catch((error: unknown) => {
		release();
		throw error;
	});
}

/** How many characters each image has as base64. */
async function encodedLengths(item: Item, displayName: Taker, images: Image[]): Promise<number[]> {
	const { helpers } = item.run.context;
	const sizes = await Promise.all(
		images.map(async ({ data }) => await sizeOfStored(helpers, data)),
	);
	const empty = images.find((_, index) => sizes[index] === 0);
	if (empty) throw badImage(displayName, `The file in '${empty.field}' is empty`);
	return sizes.map((size) => Math.ceil(size / 3) * 4);
}

function checkEncoded({ field, data }: Image, displayName: Taker, base64: Buffer, length: number) {
	if (base64.length !== length) {
		throw badImage(displayName, `The file in '${field}' cannot be read`);
	}
	const first = Buffer.from(base64.toString('latin1', 0, 64), 'base64');
	if (!data.mimeType?.startsWith('image/') && !isImage(first)) {
		throw badImage(displayName, `The file in '${field}' is not an image`);
	}
}

/** Writes one image as base64 at `at`; returns the position after it. */
async function encodeInto(body: Buffer, at: number, item: Item, { data }: Image): Promise<number> {
	if (data.id === undefined) return at + body.write(data.data, at, 'latin1');
	const stream = await item.run.context.helpers.getBinaryStream(data.id, STEP_BYTES);
	let left: Buffer = Buffer.alloc(0);
	for await (const part of stream as AsyncIterable<Buffer>) {
		const bytes = left.length > 0 ? Buffer.concat([left, part]) : part;
		const whole = bytes.length - (bytes.length % 3);
		at += body.write(bytes.toString('base64', 0, whole), at, 'latin1');
		left = bytes.subarray(whole);
	}
	return at + body.write(left.toString('base64'), at, 'latin1');
}
