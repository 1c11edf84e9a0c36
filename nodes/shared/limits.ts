/** Limits for the data that the service sends. They keep a broken service from using up n8n's memory or time. */

const MIB = 1024 * 1024;

/** The most bytes of a JSON answer. */
export const MAX_JSON_BYTES = 16 * MIB;
/** The most bytes that are read of an answer with an error status. */
export const MAX_ERROR_BYTES = 64 * 1024;
/**
 * The most characters of one event in a generation stream, or of a JSON answer in its place. Either may hold the files
 * themselves, in base64.
 */
export const MAX_EVENT_CHARS = 16 * MIB;
/** The most levels of nested arrays and objects; with more, recursive readers could overflow the stack. */
export const MAX_JSON_LEVELS = 100;
/** The most pages of a list. */
export const MAX_PAGES = 1000;
/** The most files that one generation may have. */
export const MAX_FILES = 100;
/** The most redirects that are followed for one request. */
export const MAX_REDIRECTS = 10;
/** The most characters of a file's URL; a `data:` URL may be longer. */
export const MAX_URL_CHARS = 8192;
/** The most characters of an identifier. */
export const MAX_ID_CHARS = 500;
/** The most characters of a reason or a status of the service in a message to the user. */
export const MAX_REASON_CHARS = 500;
/** The most bytes of the subtitles of one task. */
export const MAX_SUBTITLES_BYTES = 2 * MIB;
/** The most bytes that the audio parts of one speech may have in total to be joined in memory. */
export const MAX_JOINED_BYTES = 256 * MIB;
/** The most bytes of a media file, unless the caller sets a limit or the host announces a larger size. */
export const MAX_UNANNOUNCED_BYTES = 256 * MIB;

/** Deletes the first entries of a Map or Set, in the order they were added, until at most `max` remain. */
export function evictOldest<Key>(
	entries: { size: number; keys(): Iterable<Key>; delete(key: Key): unknown },
	max: number,
): void {
	for (const key of entries.keys()) {
		if (entries.size <= max) return;
		entries.delete(key);
	}
}
