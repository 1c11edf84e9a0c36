/** Limits for the data that the service sends. They keep a broken service from using up n8n's memory or time. */

const MIB = 1024 * 1024;

/** The maximum size of a JSON response, in bytes. */
export const MAX_JSON_BYTES = 16 * MIB;
/** How many bytes of a response with an error status are read at most. */
export const MAX_ERROR_BYTES = 64 * 1024;
/** The maximum length of a stream event, or of JSON in place of a stream, in characters. Both may contain files. */
export const MAX_EVENT_CHARS = 16 * MIB;
/** The maximum depth of nested arrays and objects. Deeper ones could overflow the stack of recursive functions. */
export const MAX_JSON_DEPTH = 100;
/** The maximum number of pages of one list. */
export const MAX_PAGES = 1000;
/** The maximum number of files of one generation. */
export const MAX_FILES = 100;
/** The maximum number of redirects that are followed for one request. */
export const MAX_REDIRECTS = 10;
/** The maximum length of a file's URL, in characters; a `data:` URL may be longer. */
export const MAX_URL_CHARS = 8192;
/** The maximum length of an identifier, in characters. */
export const MAX_ID_CHARS = 500;
/** The maximum length, in characters, of a reason or a status of the service that a message to the user quotes. */
export const MAX_REASON_CHARS = 500;
/** The maximum size of the subtitles of one task, in bytes. */
export const MAX_SUBTITLES_BYTES = 2 * MIB;
/** The maximum size of all audio parts of one speech that are joined in memory, in bytes. */
export const MAX_JOINED_BYTES = 256 * MIB;
/** The maximum size of a media file in bytes, unless the caller sets a limit or the host announces a larger size. */
export const MAX_UNANNOUNCED_BYTES = 256 * MIB;

/** Deletes the entries of a map that were added first, until at most `max` entries remain. */
export function evictOldest(entries: Map<unknown, unknown>, max: number): void {
	for (const key of entries.keys()) {
		if (entries.size <= max) return;
		entries.delete(key);
	}
}
