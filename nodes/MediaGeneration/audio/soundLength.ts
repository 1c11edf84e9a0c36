import { readM4aLength } from './m4a';
import { readMp3Length } from './mp3';
import type { ByteParser } from './sound';
import { readWavLength } from './wav';

/** Chooses the parser by the first bytes. The default is that for MP3. */
function* readLength(reader: { at: number }): ByteParser<number> {
	const start = (yield 12).toString('latin1');
	if (start.startsWith('RIFF')) return yield* readWavLength(reader);
	return yield* start.slice(4, 8) === 'ftyp' ? readM4aLength() : readMp3Length();
}

/**
 * Finds the duration of a WAV, MP3 or M4A file while the file is downloaded. Call `push` for each piece, then `ms`
 * once.
 */
export class SoundLength {
	/** Bytes that the parser has skipped: its position in the file. */
	at = 0;
	/** The bytes from position `at` on that have arrived. */
	private unread = Buffer.alloc(0);
	private readonly parser = readLength(this);
	/** What is left of the parser's last request, in bytes (see ByteParser), or the parser's result. */
	private state = this.parser.next();

	/** Takes the next piece of the file. */
	push(piece: Uint8Array): void {
		if (this.state.done) return;
		this.unread = Buffer.concat([this.unread, piece]);
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
					this.at += size;
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
