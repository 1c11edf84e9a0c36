import type { IBinaryData } from 'n8n-workflow';
import { Failure, invalidInput } from '../../../shared/failure';
import { INPUT_FIELD } from '../../../shared/n8n/descriptions';
import { isImage } from '../../../shared/parsing/fileType';
import { asText, isRecord } from '../../../shared/parsing/coerce';
import { memory, readStored, sizeOfStored } from '../../../shared/n8n/storedFile';
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
	 * The JSON body, such as `{ "frames": ["<base64>", …], …rest }`, once there is room for it. `release`
	 * frees its memory. Throws a Failure that names an unfit image or says that they are too large, or the
	 * signal's reason.
	 */
	async encode(rest: Record<string, string>, signal: AbortSignal) {
		const { helpers } = this.work.context;
		const sizes = await Promise.all(
			this.images.map(async ({ data }) => await sizeOfStored(helpers, data)),
		);
		const total = sizes.reduce((sum, size) => sum + Math.ceil(size / 3) * 4, 0);
		if (total > MAX_BODY_BYTES) {
			const megabytes = Math.round(total / 1024 / 1024);
			throw invalidInput(
				this.displayName,
				`add up to ${megabytes} MB when encoded, more than can be sent at once: use fewer or smaller images`,
			);
		}
		// The encoded images, and the body that is made of them.
		const release = await memory().acquire(2 * total, signal);
		const write = async () => {
			const json = JSON.stringify({ [this.requestField]: [], ...rest });
			const inside = json.indexOf('[') + 1;
			const parts: Uint8Array[] = [];
			for (const [index, image] of this.images.entries()) {
				const before = index === 0 ? `${json.slice(0, inside)}"` : '","';
				parts.push(Buffer.from(before), await this.encoded(image));
			}
			const after = Buffer.from(`"${json.slice(inside)}`);
			return { bytes: Buffer.concat([...parts, after]), release };
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
		const isTyped = !UNTYPED.has(type);
		if (isTyped && !type.startsWith('image/')) {
			const name = fileName ? ` (${fileName})` : '';
			throw this.badImage(`The file in '${field}'${name} is not an image but ${type}`);
		}
		return { field, data, isTyped };
	}

	private dataOf(given: string | IBinaryData, field: string): IBinaryData {
		const { index, context } = this.work;
		try {
			return context.helpers.assertBinaryData(index, given);
		} catch {
			const names = Object.keys(context.getInputData()[index]!.binary ?? {}).join(', ');
			const has = names ? `This item's files: ${names}` : 'This item has no files';
			throw this.badImage(`No file in '${field}'. ${has}`);
		}
	}

	/** An image as base64; one of unknown type is judged by its bytes. */
	private async encoded({ field, data, isTyped }: Image): Promise<Buffer> {
		const bytes = await readStored(this.work.context.helpers, data);
		if (isTyped || isImage(bytes)) return Buffer.from(bytes.toString('base64'), 'latin1');
		throw this.badImage(`The file in '${field}' is not an image`);
	}

	private badImage(text: string): Failure {
		return new Failure('badImage', { field: this.displayName, text });
	}
}
