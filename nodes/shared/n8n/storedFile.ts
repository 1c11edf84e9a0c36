import type { IBinaryData, IExecuteFunctions } from 'n8n-workflow';
import { processContainer } from '../account';
import { Semaphore } from '../async/semaphore';

type Helpers = IExecuteFunctions['helpers'];

/**
 * The size of a file in bytes, from n8n's binary storage or, for a file in memory, from its base64. Throws the
 * storage's error.
 */
export async function sizeOfStored(helpers: Helpers, file: IBinaryData): Promise<number> {
	if (file.id === undefined) return Buffer.byteLength(file.data, 'base64');
	if (file.bytes !== undefined) return file.bytes;
	const { fileSize } = await helpers.getBinaryMetadata(file.id);
	return fileSize;
}

/**
 * Reads all bytes of a file into memory. Before you read a large file, acquire its size from `memoryBudget`. Throws the
 * storage's error.
 */
export async function readStored(helpers: Helpers, { id, data }: IBinaryData): Promise<Buffer> {
	if (id === undefined) return Buffer.from(data, 'base64');
	return await helpers.binaryToBuffer(await helpers.getBinaryStream(id));
}

/**
 * The most bytes that are reserved at once, for encoded images and for audio to join. A larger amount is reserved only
 * while nothing else is.
 */
const MEMORY_BUDGET_BYTES = 256 * 1024 * 1024;

/** The budget for large buffers, in bytes. All executions of this process share it. */
export const memoryBudget = (): Semaphore => processContainer.get(Semaphore, MEMORY_BUDGET_BYTES);
