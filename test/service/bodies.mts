/* Bodies of answers that no service should send. */
import { gzipSync } from 'node:zlib';

export const MIB = 1024 * 1024;

/** An edge's page, where JSON or a file was expected. */
export const PAGE =
	'<!DOCTYPE html><html><head><title>Oops</title></head><body><h1>Oops</h1></body></html>';

/** Something large, made by the first who needs it. */
export function lazy(make: () => Buffer): () => Buffer {
	let made: Buffer | undefined;
	return () => (made ??= make());
}

/** Valid JSON of so many MiB. */
export const hugeJson = (mebibytes: number) =>
	lazy(() => Buffer.from(`{"a":1${' '.repeat(mebibytes * MIB)}}`));

/** Zeros that unpack to so many MiB, a multiple of 8: gzip allows parts to follow one another. */
export const bomb = (mebibytes: number) =>
	lazy(() => {
		const part = gzipSync(Buffer.alloc(8 * MIB));
		return Buffer.concat(Array.from({ length: mebibytes / 8 }, () => part));
	});
