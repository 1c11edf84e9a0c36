/* node s3Process.mjs DIRECTORY HOST PORT BUCKET…: runs the S3 server in this process. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';

const [directory, address, port, ...buckets] = process.argv.slice(2);
const configureBuckets = buckets.map((name) => ({ name }));
const server = new S3rver({
	address,
	port: Number(port),
	directory,
	silent: true,
	configureBuckets,
});
server.middleware.unshift(listParts);
await server.run();
console.log('S3 is ready');

/** Answers ListParts, an operation of uploads in parts, which n8n's node needs and s3rver does not support. */
async function listParts(ctx, next) {
	const { uploadId } = ctx.query;
	if (ctx.method !== 'GET' || uploadId === undefined) return await next();
	const [, bucket] = ctx.path.split('/');
	const folder = join(server.store.getResourcePath(bucket, undefined, 'uploads'), uploadId);
	const parts = readdirSync(folder)
		.filter((name) => /^\d+$/.test(name))
		.sort((a, b) => Number(a) - Number(b))
		.map((name) => {
			const etag = readFileSync(join(folder, `${name}.md5`), 'utf8');
			const { size } = statSync(join(folder, name));
			return `<Part><PartNumber>${name}</PartNumber><ETag>"${etag}"</ETag><Size>${size}</Size></Part>`;
		});
	ctx.type = 'application/xml';
	ctx.body = `<?xml version="1.0" encoding="UTF-8"?><ListPartsResult>${parts.join('')}</ListPartsResult>`;
}
