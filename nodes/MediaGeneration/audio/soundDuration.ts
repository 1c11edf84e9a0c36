import { readM4aDuration } from './m4a';
import { readMp3Duration } from './mp3';
import type { ByteParser } from './sound';
import { readWavDuration } from './wav';

/** Parses a WAV or M4A file, or any other as MP3, and returns its duration in ms. */
function* readDuration(reader: { offset: number }): ByteParser {
	const firstBytes = (yield 12).toString('latin1');
	if (firstBytes.startsWith('RIFF')) return yield* readWavDuration(reader);
	return yield* firstBytes.slice(4, 8) === 'ftyp' ? readM4aDuration() : readMp3Duration();
}

/** Finds the duration of a WAV, MP3 or M4A file during its download. Call `push` for each chunk, then `ms` once. */
export class SoundDuration {
	/** The parser's position in the file: how many bytes it has moved on so far. */
	offset = 0;
	/** The bytes that have arrived, from position `offset` on. */
	private unreadBytes = Buffer.alloc(0);
	private readonly parser = readDuration(this);
	/**
	 * What the parser has yielded last (see ByteParser): how many bytes it needs, or as a negative number, how many have
	 * still to be skipped. At the end, its result.
	 */
	private state = this.parser.next();

	push(chunk: Uint8Array): void {
		if (this.state.done) return;
		this.unreadBytes = Buffer.concat([this.unreadBytes, chunk]);
		this.feedParser(false);
	}

	/** Returns the duration in ms, or undefined if it was not found. Call it after the last `push`. */
	ms(): number | undefined {
		this.feedParser(true);
		const { value } = this.state;
		return value > 0 && Number.isFinite(value) ? value : undefined;
	}

	/**
	 * Serves the parser's requests (see `ByteParser`) with the bytes that have arrived: passes on n bytes, or skips
	 * them if the request is -n. `isFileEnd` is true if no more bytes will arrive; the parser then gets what is left.
	 */
	private feedParser(isFileEnd: boolean): void {
		try {
			while (!this.state.done) {
				const request = this.state.value;
				const size = Math.min(Math.abs(request), this.unreadBytes.length);
				const bytes = this.unreadBytes.subarray(0, size);
				if (request < 0) {
					this.unreadBytes = this.unreadBytes.subarray(size);
					this.offset += size;
					this.state.value += size;
				}
				const isRequestServed = request < 0 ? this.state.value === 0 : size === request;
				if (!isRequestServed && !isFileEnd) return;
				this.state = this.parser.next(bytes);
			}
		} catch {
			// The parser throws an error if the headers of the file are broken.
			this.state = { done: true, value: 0 };
		}
		this.unreadBytes = Buffer.alloc(0);
	}
}
