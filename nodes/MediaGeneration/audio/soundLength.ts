import { readM4aLength } from './m4a';
import { readMp3Length } from './mp3';
import type { ByteReading } from './sound';
import { readWavLength } from './wav';

/** By the first bytes: what is neither WAV nor MP4 is MP3, or is given up soon. */
function* readLength(reader: { at: number }): ByteReading<number> {
	const start = (yield 12).toString('latin1');
	if (start.startsWith('RIFF')) return yield* readWavLength(reader);
	return yield* start.slice(4, 8) === 'ftyp' ? readM4aLength() : readMp3Length();
}

/**
 * How long a WAV, MP3 or M4A file is, from its own headers, given in pieces as it streams. Keeps no more of
 * it than what is looked at. Never throws.
 */
export class SoundLength {
	/** Bytes passed over. */
	at = 0;
	private unread = Buffer.alloc(0);
	private readonly reading = readLength(this);
	private state = this.reading.next();

	push(piece: Uint8Array): void {
		if (this.state.done) return;
		this.unread = Buffer.concat([this.unread, piece]);
		this.readOn(false);
	}

	/** Once all has been pushed: the length in ms; undefined when the headers do not say it. */
	ms(): number | undefined {
		this.readOn(true);
		const { value } = this.state;
		return value > 0 && Number.isFinite(value) ? value : undefined;
	}

	private readOn(isEnd: boolean): void {
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
				const isThere = neededBytes < 0 ? this.state.value === 0 : size === neededBytes;
				if (!isThere && !isEnd) return;
				this.state = this.reading.next(bytes);
			}
		} catch {
			// Its headers are broken.
			this.state = { done: true, value: 0 };
		}
		this.unread = Buffer.alloc(0);
	}
}
