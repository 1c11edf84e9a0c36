import { readM4aLength } from './m4a';
import { readMp3Length } from './mp3';
import { StreamReader, type Reading } from './streamReader';
import { readWavLength } from './wav';

/** How long a sound is, from its own headers while it streams. Pure. */

/** By the first bytes: what is neither WAV nor MP4 is MP3, or is given up soon. */
function* readLength(reader: { at: number }): Reading<number> {
	const start = (yield 12).toString('latin1');
	if (start.startsWith('RIFF')) return yield* readWavLength(reader);
	return yield* start.slice(4, 8) === 'ftyp' ? readM4aLength() : readMp3Length();
}

/** Takes a WAV, MP3 or M4A file in pieces, and tells its length. */
export class SoundLength {
	private readonly reader = new StreamReader(readLength);
	private isBroken = false;

	/** Never throws. */
	push(piece: Uint8Array): void {
		this.attempt(() => this.reader.push(piece));
	}

	/** Once all has been pushed: how long it is, in ms; undefined when its headers do not say so. */
	ms(): number | undefined {
		const length = this.attempt(() => this.reader.end());
		return length && Number.isFinite(length) ? length : undefined;
	}

	private attempt<Result>(work: () => Result): Result | undefined {
		if (this.isBroken) return undefined;
		try {
			return work();
		} catch {
			this.isBroken = true;
			return undefined;
		}
	}
}
