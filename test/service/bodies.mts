/* Bodies of responses that a service should not send. */
import { gzipSync } from 'node:zlib';

export const MIB = 1024 * 1024;

/** The web page that a proxy sends in place of JSON or a file. */
export const PAGE =
	'<!DOCTYPE html><html><head><title>Oops</title></head><body><h1>Oops</h1></body></html>';

/** Returns a function that calls `make` once, and then always returns the same body. */
export function lazy(make: () => Buffer): () => Buffer {
	let body: Buffer | undefined;
	return () => (body ??= make());
}

/** Returns a function that makes valid JSON of this size. */
export const hugeJson = (mebibytes: number) =>
	lazy(() => Buffer.from(`{"a":1${' '.repeat(mebibytes * MIB)}}`));

/** Returns a function that makes a gzip file of zeros. It unpacks to this size, which must be a multiple of 8. */
export const bomb = (mebibytes: number) =>
	lazy(() => {
		const part = gzipSync(Buffer.alloc(8 * MIB));
		return Buffer.concat(Array.from({ length: mebibytes / 8 }, () => part));
	});
