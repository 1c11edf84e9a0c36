/**
 * How much data of the service is accepted. The limits keep a broken service from taking n8n's memory or time. Most
 * results beyond a limit are refused or ignored as a whole, because half a result would look like a whole one. Texts
 * for the user are truncated instead.
 */

const MIB = 1024 * 1024;

/** The most bytes of a JSON answer. A page of 100 records has about 100 kB. */
export const MAX_JSON_BYTES = 16 * MIB;
/**
 * The most bytes that are read of an answer with an error status. Users see only its first words, so a longer body is
 * truncated.
 */
export const MAX_ERROR_BYTES = 64 * 1024;
/**
 * The most characters of one event in a generation stream, or of a JSON answer that takes the place of the stream.
 * Either may hold the files themselves, in base64.
 */
export const MAX_EVENT_CHARS = 16 * MIB;
/**
 * The most levels of nested arrays and objects. The readers, and n8n itself, walk them recursively, so deeper ones
 * could overflow the stack.
 */
export const MAX_JSON_LEVELS = 100;
/** The most pages of a list. With 100 records per page, that is 100 000 records. */
export const MAX_PAGES = 1000;
/**
 * The most files that one generation may have. A request can ask for at most 4 (§8). If an event in a stream has more
 * files, the stream counts as broken off. If the history has more, only the first are taken.
 */
export const MAX_FILES = 100;
/** The most redirects that are followed for one request. */
export const MAX_REDIRECTS = 10;
/** The most characters of a file's URL. Signed URLs have up to 3000. A `data:` URL may be longer. */
export const MAX_URL_CHARS = 8192;
/** The most characters of an identifier. Identifiers appear in request paths and messages. */
export const MAX_ID_CHARS = 500;
/** The most characters of a reason or a status of the service in a message to the user. */
export const MAX_REASON_CHARS = 500;
/** The most bytes of the subtitles of one task. An hour of speech, word by word, has about 0.5 MB. */
export const MAX_SUBTITLES_BYTES = 2 * MIB;
/** The most bytes that the audio parts of one speech may have in total to be joined. They are joined in memory. */
export const MAX_JOINED_BYTES = 256 * MIB;
/**
 * The most bytes of a media file, unless the caller sets a limit or the host announces a larger size. A smaller
 * announced size does not count, because it may be the compressed size.
 */
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
