/**
 * The body of a large request. Its memory is free once the caller deletes `bytes` of the source. n8n's request helper
 * (axios) keeps a Buffer until the response has ended, which takes minutes for a stream. It takes this object for a Blob,
 * which it reads only while it sends the request.
 */
export class FreeableBody {
	readonly [Symbol.toStringTag] = 'Blob';
	readonly type = 'application/json';
	readonly size: number;

	constructor(private readonly source: { bytes?: Buffer }) {
		this.size = source.bytes?.length ?? 0;
	}

	async *stream(): AsyncGenerator<Buffer> {
		if (this.source.bytes) yield this.source.bytes;
	}
}
