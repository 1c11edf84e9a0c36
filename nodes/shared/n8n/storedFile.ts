import type { IBinaryData, IBinaryKeyData, IDataObject, IExecuteFunctions } from 'n8n-workflow';
import { processContainer } from '../account';
import { MemoryBudget } from '../async/memoryBudget';
import { Semaphore } from '../async/semaphore';
import { isRecord } from '../parsing/values';

type Helpers = IExecuteFunctions['helpers'];

/**
 * Returns the files in the JSON of an item, by field name: n8n's combined binary mode puts them into `_files`. A user's
 * own column may have the same name, so what n8n has not stored is left out. Some nodes output items without JSON.
 */
export function filesInJson({ _files }: IDataObject = {}): IBinaryKeyData {
	const fields = Object.entries(isRecord(_files) ? _files : {}).filter(
		([, file]) =>
			isRecord(file) && typeof file.id === 'string' && typeof file.mimeType === 'string',
	);
	return Object.fromEntries(fields) as unknown as IBinaryKeyData;
}

/** Returns the size of a file in n8n, in bytes. Throws the error of n8n's storage if the size cannot be read. */
export async function storedFileSize(helpers: Helpers, file: IBinaryData): Promise<number> {
	if (file.id === undefined) return Buffer.byteLength(file.data, 'base64');
	if (file.bytes !== undefined) return file.bytes;
	const { fileSize } = await helpers.getBinaryMetadata(file.id);
	return fileSize;
}

/** Reads a file into memory. Acquire a large one's size from its budget first. Throws the error of n8n's storage. */
export async function readStoredFile(helpers: Helpers, { id, data }: IBinaryData): Promise<Buffer> {
	if (id === undefined) return Buffer.from(data, 'base64');
	return await helpers.binaryToBuffer(await helpers.getBinaryStream(id));
}

/** How much memory each of the budgets below has, in bytes. An amount above it waits until nothing else is acquired. */
const BUDGET_BYTES = 128 * 1024 * 1024;

/** The budgets of memory that all executions of this process share, in bytes. */
class MemoryBudgets {
	/** For the input images of requests. */
	readonly images = new MemoryBudget(BUDGET_BYTES);
	/**
	 * For joined audio. It has its own budget, because images stay in memory until the service has accepted their call,
	 * which a slow service does late.
	 */
	readonly sounds = new Semaphore(BUDGET_BYTES);
}

/** Returns the budgets of memory of this process. */
export const memoryBudgets = (): MemoryBudgets => processContainer.get(MemoryBudgets);
