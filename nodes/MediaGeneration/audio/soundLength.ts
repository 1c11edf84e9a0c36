import { readM4aLength } from './m4a';
import { readMp3Length } from './mp3';
import type { ByteParser } from './sound';
import { readWavLength } from './wav';

/** Chooses the parser by the first bytes of the file: that for MP3, unless they are those of WAV or M4A. */
function* readLength(reader: { offset: number }): ByteParser<number> {
	const start = (yield 12).toString('latin1');
	if (start.startsWith('RIFF')) return yield* readWavLength(reader);
	return yield* start.slice(4, 8) === 'ftyp' ? readM4aLength() : readMp3Length();
}

/**
 * Finds the duration of a WAV, MP3 or M4A file while the file is downloaded. Call `push` for each chunk, then `ms`
 * once.
 */
export class SoundLength {
	/** How many bytes the parser has moved on so far: its position in the file. */
	offset = 0;
	/** The bytes that have arrived, from position `offset` on. */
	private unread = Buffer.alloc(0);
	private readonly parser = readLength(this);
	/** The rest of the parser's last request, in bytes (see ByteParser), or the parser's result. */
	private state = this.parser.next();

	/** Takes the next chunk of the file. */
	push(chunk: Uint8Array): void {
		if (this.state.done) return;
		this.unread = Buffer.concat([this.unread, chunk]);
		this.serveParser(false);
	}

	/** Returns the duration in ms, or undefined if it was not found. Call it after the last `push`. */
	ms(): number | undefined {
		this.serveParser(true);
		const { value } = this.state;
		return value > 0 && Number.isFinite(value) ? value : undefined;
	}

	/** Gives the parser the bytes that it requests, as far as they have arrived. `isEnd`: no more will arrive. */
	private serveParser(isEnd: boolean): void {
		try {
			while (!this.state.done) {
				const neededBytes = this.state.value;
				const size = Math.min(Math.abs(neededBytes), this.unread.length);
				const bytes = this.unread.subarray(0, size);
				if (neededBytes < 0) {
					this.unread = this.unread.subarray(size);
					this.offset += size;
					this.state.value += size;
				}
				const isServed = neededBytes < 0 ? this.state.value === 0 : size === neededBytes;
				if (!isServed && !isEnd) return;
				this.state = this.parser.next(bytes);
			}
		} catch {
			// The file's headers are broken.
			this.state = { done: true, value: 0 };
		}
		this.unread = Buffer.alloc(0);
	}
}
