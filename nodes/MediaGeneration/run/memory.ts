import { thisProcess } from '../../shared/account';
import { Semaphore } from '../../shared/async/semaphore';

/** Bytes of encoded images, and of sounds to join, that may be in memory at once. */
const MEMORY_BYTES = 256 * 1024 * 1024;

class Memory extends Semaphore {
	constructor() {
		super(MEMORY_BYTES);
	}
}

/** The memory for large buffers, in bytes, which all executions of this process share. */
export const memory = (): Semaphore => thisProcess.shared(Memory);
