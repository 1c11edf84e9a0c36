/**
 * How much of the service's data is accepted. No sane service reaches these limits; they keep a
 * broken one from taking n8n's memory or time. What is larger is refused as a whole (Failure
 * `tooLarge`, or a lost stream), never cut.
 */

const MIB = 1024 * 1024;

/** Bytes of a JSON answer. A page of 100 records has about 100 kB. */
export const MAX_JSON_BYTES = 16 * MIB;
/** Bytes of an answer with an error status that are read; only its first words are shown. */
export const MAX_ERROR_BYTES = 64 * 1024;
/** Characters of an event or a plain answer of a generation stream, which may hold the files themselves. */
export const MAX_EVENT_CHARS = 16 * MIB;
/** Nested arrays and objects: readers, and n8n itself, walk them recursively. */
export const MAX_JSON_LEVELS = 100;
/** Pages of a list: 100 000 records in pages of the usual size. */
export const MAX_PAGES = 1000;
/** Files that one generation names; at most 4 can be asked for (§8). */
export const MAX_FILES = 100;
/** Redirects followed for one request. */
export const MAX_REDIRECTS = 10;
/** Characters of a file's address; signed ones have up to 3000. */
export const MAX_ADDRESS_CHARS = 8192;
/** Characters of an identifier: it appears in request paths and messages. */
export const MAX_ID_CHARS = 500;
/** Characters of the service's own words in a message, or of its status. */
export const MAX_REASON_CHARS = 500;
/** Bytes of the subtitles of one task: an hour of speech, word by word, has about 0.5 MB. */
export const MAX_SUBTITLES_BYTES = 2 * MIB;
/** Bytes of the sound of all parts of a speech, which is joined in memory. */
export const MAX_JOINED_BYTES = 256 * MIB;
/** Bytes of a file of unannounced size, or a compressed one, which can unpack to any size. */
export const MAX_UNANNOUNCED_BYTES = 256 * MIB;

/** Drops the oldest of what is remembered until at most `max` are left. */
export function evictOldest<Key>(
	entries: { size: number; keys(): Iterable<Key>; delete(key: Key): unknown },
	max: number,
): void {
	for (const key of entries.keys()) {
		if (entries.size <= max) return;
		entries.delete(key);
	}
}
