import type { IBinaryData, INodeProperties } from 'n8n-workflow';
import { Failure, invalidInput } from '../../../shared/failure';
import { download } from '../../../shared/http/download';
import { wordingOf } from '../../../shared/n8n/messages';
import { isImage, mimeFromHeader } from '../../../shared/parsing/fileType';
import { asWebUrl, isRecord, parseJson } from '../../../shared/parsing/values';
import {
	filesInJson,
	memoryBudgets,
	readStoredFile,
	storedFileSize,
} from '../../../shared/n8n/storedFile';
import type { GenerationFields, LargeBody } from '../../run/generationOrder';
import type { ItemContext } from '../../run/operation';

/* Reads the input images of an item, and puts them into the body of a create call as base64 texts (§4.6, §4.7). */

/** The maximum size of all images of one request together, after encoding as base64, in bytes. */
const MAX_ENCODED_BYTES = 512 * 1024 * 1024;

/** MIME types that do not tell what a file contains. */
const UNSPECIFIC_TYPES = new Set(['', 'application/octet-stream', 'binary/octet-stream']);

/** An input image. For an image that is given by URL, `data` is that URL until the image is downloaded. */
interface Image<Data = IBinaryData> {
	/** What messages call the image: its field or its URL. */
	label: string;
	data: Data;
}

/** Matches one field name or URL in a text. A URL may contain commas, but a field name may not. */
const SOURCE_PATTERN = /https?:\/\/\S+?(?=,?(?:\s|$)|,https?:\/\/)|[^,\s][^,\n]*/gi;

/** Returns the field names, URLs and files in a parameter, in order. Lists may be nested or JSON. */
function sourcesIn(raw: unknown): Array<string | IBinaryData> {
	if (isRecord(raw) && typeof raw.mimeType === 'string') return [raw as unknown as IBinaryData];
	if (typeof raw === 'object') return Object.values(raw ?? {}).flatMap(sourcesIn);
	const list = parseJson(String(raw));
	if (Array.isArray(list)) return sourcesIn(list);
	return (String(raw).match(SOURCE_PATTERN) ?? []).map((name) => name.trim());
}

/** What the user can do about a file that is not an image. */
const USE_IMAGE_REMEDY = 'Use a file that is an image, such as a PNG or JPEG';

/**
 * Finds the input images of an item. Call it in `prepare`. Throws a Failure if the field is empty, or if a file is
 * missing, is empty, or has a MIME type that is not that of an image.
 *
 * Returns the `prepareBody` of a GenerationOrder, which downloads images that are given by URL. That function, or `make`
 * of the LargeBody that it resolves with, throws a Failure if a download fails, a file is not an image, or the images are
 * too large. The body is JSON, such as `{ "frames": ["<base64>", …], "prompt": "…" }`.
 *
 * @param imagesField the field that says where the images are, from `inputImagesField`
 * @param requestField the field of the body that has the images
 */
export function imageBodyPreparer(
	item: ItemContext,
	{ name, displayName, default: byDefault }: INodeProperties,
	requestField: 'ingredients' | 'frames',
) {
	const { context, index, parameters } = item;
	const { helpers } = context;
	const sources = sourcesIn(parameters.readRaw(name, byDefault) ?? '');
	if (sources.length === 0) {
		const remedy = 'Enter the names of input binary fields that hold images, or image URLs';
		throw invalidInput(displayName, 'is empty: it must say where the images are', remedy);
	}
	const badImageFailure = (reason: string, fieldRemedy?: string) =>
		new Failure('badImage', { field: displayName, reason, fieldRemedy });
	const throwUnreadable = (label: string) => (error: Error) => {
		const reason = `The file in '${label}' could not be read: ${error.message}`;
		const remedy =
			'n8n may have deleted it. Run the node that provides it again (charged, if that node generates it)';
		throw badImageFailure(reason, remedy);
	};
	const images = sources.map(toImage);

	return async (otherFields: GenerationFields, signal: AbortSignal): Promise<LargeBody> => {
		const imagePromises = images.map(async (image) => await fetchImage(image, signal));
		const storedImages = await Promise.all(imagePromises);
		const sizePromises = storedImages.map(async ({ label, data }) => {
			return await storedFileSize(helpers, data).catch(throwUnreadable(label));
		});
		const totalBytes = (await Promise.all(sizePromises)).reduce((sum, size) => sum + size, 0);
		const encodedBytes = (totalBytes / 3) * 4;
		if (encodedBytes > MAX_ENCODED_BYTES) {
			const megabytes = Math.round(encodedBytes / 1024 / 1024);
			throw invalidInput(
				displayName,
				`are too large in total: ${megabytes} MB when encoded; the limit is ${MAX_ENCODED_BYTES / 1024 / 1024} MB`,
				'Use fewer or smaller images',
			);
		}
		return {
			// For a moment, memory holds the encoded images and a copy of them in the body.
			memory: { budget: memoryBudgets().images, bytes: 2 * encodedBytes },
			make: async () => await makeBody(storedImages, otherFields),
		};
	};

	/** Returns the image that a source stands for. Throws a Failure if it is missing, empty or of another type. */
	function toImage(source: string | IBinaryData): Image<IBinaryData | URL> {
		const field = typeof source === 'string' ? source : 'file';
		const url = asWebUrl(field);
		// The label has no query, because the query of a URL may contain a secret signature.
		if (url) return { label: url.origin + url.pathname, data: url };
		const data = storedFileOf(source, field);
		if (!isRecord(data) || (typeof data.id !== 'string' && typeof data.data !== 'string')) {
			const remedy =
				"A Code node makes a file with 'prepareBinaryData', or of base64 text in 'data'";
			throw badImageFailure(`'${field}' holds no file that n8n can read`, remedy);
		}
		const { mimeType, fileName, id, bytes } = data;
		if (bytes === 0 || (id === undefined && data.data === '')) {
			const remedy = 'Check the node that provides this file: it passes on no content';
			throw badImageFailure(`The file in '${field}' is empty`, remedy);
		}
		const type = mimeFromHeader(String(mimeType ?? ''));
		if (!UNSPECIFIC_TYPES.has(type) && !type.startsWith('image/')) {
			const name = fileName ? ` (${fileName})` : '';
			throw badImageFailure(
				`The file in '${field}'${name} is not an image but ${type}`,
				USE_IMAGE_REMEDY,
			);
		}
		return { label: field, data };
	}

	/** Downloads an image that is given by URL; returns any other as it is. Throws a Failure if the download fails. */
	async function fetchImage(
		{ label, data }: Image<IBinaryData | URL>,
		signal: AbortSignal,
	): Promise<Image> {
		if (!(data instanceof URL)) return { label, data };
		const maxBytes = (MAX_ENCODED_BYTES / 4) * 3;
		const input = { kind: 'image', id: 'input', isInput: true, maxBytes } as const;
		const file = { url: data.href, ...input };
		const downloadPromise = download(context, item.credential, file, signal);
		const storedImage = await downloadPromise.catch((failure: Failure) => {
			// The message of a failed download says that the service has generated the file, so it is replaced.
			const reason = failure.facts.reason ?? wordingOf(failure).message;
			throw badImageFailure(
				`The image at ${label} could not be downloaded: ${reason}`,
				"Check the image's URL, and whether n8n can reach its host",
			);
		});
		return { label, data: storedImage };
	}

	/** Finds the file that `source` stands for, in the input item. Throws a Failure if there is none. */
	function storedFileOf(source: string | IBinaryData, field: string): IBinaryData {
		const { json, binary } = context.getInputData()[index]!;
		const jsonFiles = filesInJson(json);
		const files = { ...binary, ...jsonFiles };
		// If n8n keeps files in memory, an expression such as `$binary.data` gives a file without its content. Then the
		// file of the input item that has the same fields is used.
		const hasSameFields = (file: object) =>
			Object.entries(source).every(([key, value]) => file[key as never] === value);
		const filesWithSameFields =
			typeof source === 'string' ? [] : Object.values(files).filter(hasSameFields);
		const fileOrFieldName = filesWithSameFields.length === 1 ? filesWithSameFields[0]! : source;
		try {
			return helpers.assertBinaryData(index, jsonFiles[source as string] ?? fileOrFieldName);
		} catch {
			const fieldNames = Object.keys(files).join(', ') || 'none';
			throw badImageFailure(`The input has no binary field '${field}' (it has ${fieldNames})`);
		}
	}

	/**
	 * Builds the request body, with the images in `requestField` as base64 texts. Throws a Failure if the bytes of one are
	 * not those of an image: n8n takes the MIME type from the file's extension.
	 */
	async function makeBody(images: Image[], otherFields: GenerationFields): Promise<Buffer> {
		// The empty array is the first field, so its bracket is the first one in the JSON.
		const json = JSON.stringify({ [requestField]: [], ...otherFields });
		const arrayStart = json.indexOf('[') + 1;
		const parts: Uint8Array[] = [];
		for (const { label, data } of images) {
			const bytes = await readStoredFile(helpers, data).catch(throwUnreadable(label));
			if (!isImage(bytes))
				throw badImageFailure(`The file in '${label}' is not an image`, USE_IMAGE_REMEDY);
			const separator = parts.length === 0 ? `${json.slice(0, arrayStart)}"` : '","';
			parts.push(Buffer.from(separator), Buffer.from(bytes.toString('base64'), 'latin1'));
		}
		return Buffer.concat([...parts, Buffer.from(`"${json.slice(arrayStart)}`)]);
	}
}
