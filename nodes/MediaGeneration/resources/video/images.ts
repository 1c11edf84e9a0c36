import type { IBinaryData } from 'n8n-workflow';
import { Failure, invalidInput } from '../../../shared/failure';
import { INPUT_FIELD } from '../../../shared/n8n/descriptions';
import { isImage } from '../../../shared/parsing/fileType';
import { asText, isRecord } from '../../../shared/parsing/coerce';
import { memory, sizeOfStored } from '../../../shared/n8n/storedFile';
import type { Work } from '../../run/work';

/* Input images → the base64 array of a create call (§4.6, §4.7), with one encoded copy in memory. */

/** Largest encoded request body, in bytes: neither n8n nor the service can be expected to cope with more. */
const MAX_BODY_BYTES = 512 * 1024 * 1024;
/** Encoded at a time, in bytes: divisible by 3, so that base64 needs no padding in between. */
const STEP_BYTES = 48 * 1024;
/** How many of the fields that an item does have are named. */
const MAX_NAMED = 10;

const UNTYPED = new Set(['', 'application/octet-stream', 'binary/octet-stream']);

interface Image {
	field: string;
	data: IBinaryData;
}

/** The images in an item's fields. */
export class InputImages {
	private readonly images: Image[];

	/**
	 * `displayName` is that of the parameter that names the images, `requestField` the field of the request
	 * that takes them. Throws a Failure that names the missing or unfit one.
	 */
	constructor(
		private readonly work: Work,
		private readonly displayName: string,
		private readonly requestField: 'ingredients' | 'frames',
	) {
		const raw = work.parameters.raw('binaryPropertyName', INPUT_FIELD);
		const names = (asText(raw) ?? '').split(',').map((name) => name.trim());
		// An expression may also give the file itself.
		const given = isRecord(raw) ? [raw as unknown as IBinaryData] : names.filter(Boolean);
		if (given.length === 0) {
			const text = 'is empty: enter the name of an input field that holds an image';
			throw invalidInput(displayName, text);
		}
		this.images = given.map((one) => this.imageIn(one));
	}

	/**
	 * The JSON body, such as `{ "frames": ["<base64>", …], …rest }`, written straight into one buffer while
	 * the images are read as streams, once there is room for it. Throws a Failure that names an empty
	 * or unfit image or says that they are too large, or the signal's reason.
	 */
	async encode(rest: Record<string, string>, signal: AbortSignal) {
		const lengths = await this.encodedLengths();
		const json = JSON.stringify({ [this.requestField]: [], ...rest });
		const inside = json.indexOf('[') + 1;
		// Each image has two quotes and a comma around it.
		const total = lengths.reduce((sum, length) => sum + length + 3, Buffer.byteLength(json));
		if (total > MAX_BODY_BYTES) {
			const megabytes = Math.round(total / 1024 / 1024);
			throw invalidInput(
				this.displayName,
				`add up to ${megabytes} MB when encoded, more than can be sent at once: use fewer or smaller images`,
			);
		}

		const release = await memory().acquire(total, signal);
		const write = async () => {
			const body = Buffer.allocUnsafe(total);
			let at = body.write(json.slice(0, inside));
			for (const [index, image] of this.images.entries()) {
				at += body.write(index === 0 ? '"' : ',"', at);
				const start = at;
				at = await this.encodeInto(body, at, image.data);
				this.checkEncoded(image, body.subarray(start, at), lengths[index]!);
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

	private imageIn(given: string | IBinaryData): Image {
		const field = typeof given === 'string' ? given : 'file';
		const data = this.dataOf(given, field);
		const { mimeType, fileName, id, bytes } = data;
		if (bytes === 0 || (id === undefined && data.data === '')) {
			throw this.badImage(`The file in '${field}' is empty`);
		}
		const type = mimeType?.split(';')[0]!.trim().toLowerCase() ?? '';
		// A file of unknown type is judged by its bytes: now if they are in memory, else when they are read.
		if (UNTYPED.has(type)) {
			if (id === undefined) this.checkBytes(field, data.data);
		} else if (!type.startsWith('image/')) {
			const name = fileName ? ` (${fileName})` : '';
			throw this.badImage(`The file in '${field}'${name} is not an image but ${type}`);
		}
		return { field, data };
	}

	private dataOf(given: string | IBinaryData, field: string): IBinaryData {
		const { index, context } = this.work;
		try {
			return context.helpers.assertBinaryData(index, given);
		} catch {
			const { binary, json } = context.getInputData()[index]!;
			// Where n8n keeps files in the items' JSON, their names are paths.
			const paths = isRecord(json._files) ? Object.keys(json._files).map((n) => `_files.${n}`) : [];
			const names = [...Object.keys(binary ?? {}), ...paths];
			const shown = names.length > MAX_NAMED ? [...names.slice(0, MAX_NAMED), '…'] : names;
			const has =
				names.length > 0 ? `This item's files: ${shown.join(', ')}` : 'This item has no files';
			throw this.badImage(`No file in '${field}'. ${has}`);
		}
	}

	/** How many characters each image has as base64. */
	private async encodedLengths(): Promise<number[]> {
		const { helpers } = this.work.context;
		const sizes = await Promise.all(
			this.images.map(async ({ data }) => await sizeOfStored(helpers, data)),
		);
		const empty = this.images.find((_, index) => sizes[index] === 0);
		if (empty) throw this.badImage(`The file in '${empty.field}' is empty`);
		return sizes.map((size) => Math.ceil(size / 3) * 4);
	}

	private checkEncoded({ field, data }: Image, base64: Buffer, length: number): void {
		if (base64.length !== length) throw this.badImage(`The file in '${field}' cannot be read`);
		if (data.mimeType?.startsWith('image/')) return;
		this.checkBytes(field, base64.toString('latin1', 0, 64));
	}

	private checkBytes(field: string, base64: string): void {
		if (isImage(Buffer.from(base64.slice(0, 64), 'base64'))) return;
		throw this.badImage(`The file in '${field}' is not an image`);
	}

	/** Writes one image as base64 at `at`; returns the position after it. */
	private async encodeInto(body: Buffer, at: number, { id, data }: IBinaryData): Promise<number> {
		if (id === undefined) return at + body.write(data, at, 'latin1');
		const stream = await this.work.context.helpers.getBinaryStream(id, STEP_BYTES);
		let end = at;
		let left: Buffer = Buffer.alloc(0);
		for await (const part of stream as AsyncIterable<Buffer>) {
			const bytes = left.length > 0 ? Buffer.concat([left, part]) : part;
			const whole = bytes.length - (bytes.length % 3);
			end += body.write(bytes.toString('base64', 0, whole), end, 'latin1');
			left = bytes.subarray(whole);
		}
		return end + body.write(left.toString('base64'), end, 'latin1');
	}

	private badImage(text: string): Failure {
		return new Failure('badImage', { field: this.displayName, text });
	}
}
