import type { IBinaryData, IExecuteFunctions } from 'n8n-workflow';
import { processContainer } from '../account';
import { Semaphore } from '../async/semaphore';

type Helpers = IExecuteFunctions['helpers'];

/** Size of a file in bytes: n8n's own storage knows it; in memory it follows from the base64. */
export async function sizeOfStored(helpers: Helpers, file: IBinaryData): Promise<number> {
	if (file.id === undefined) return Buffer.byteLength(file.data, 'base64');
	if (file.bytes !== undefined) return file.bytes;
	const { fileSize } = await helpers.getBinaryMetadata(file.id);
	return fileSize;
}

/** The bytes of a file. */
export async function readStored(helpers: Helpers, { id, data }: IBinaryData): Promise<Buffer> {
	if (id === undefined) return Buffer.from(data, 'base64');
	return await helpers.binaryToBuffer(await helpers.getBinaryStream(id));
}

/** Bytes of encoded images, and of sounds to join, that may be in memory at once. */
const MEMORY_BYTES = 256 * 1024 * 1024;

/** The memory for large buffers, in bytes, which all executions of this process share. */
export const memoryBudget = (): Semaphore => processContainer.get(Semaphore, MEMORY_BYTES);
