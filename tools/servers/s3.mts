import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../cleanup.mts';
import { freePort } from '../ports.mts';
import { HOST, serve } from './serve.mts';

const program = join(import.meta.dirname, 's3Process.mjs');

export type S3 = Awaited<ReturnType<typeof startS3>>;

/** Starts an S3 server on a free port, with the given buckets, which are empty. Resolves once it is ready. */
export async function startS3(...buckets: string[]) {
	const folder = temporaryFolder('s3');
	const port = await freePort();
	const directory = join(folder.path, 'data');
	mkdirSync(directory);
	const server = await serve({
		command: process.execPath,
		args: [program, directory, HOST, String(port), ...buckets],
		folder,
		ready: 'S3 is ready',
	});
	/** The server. A file has the URL `${url}/${bucket}/${key}`, and can be read without a credential. */
	const url = `http://${HOST}:${port}`;
	/** The fields of n8n's credential "AWS (IAM)" for this server. */
	const credential = {
		region: 'us-east-1',
		// The server accepts no other keys.
		accessKeyId: 'S3RVER',
		secretAccessKey: 'S3RVER',
		customEndpoints: true,
		s3Endpoint: url,
	};
	return { url, credential, ...server };
}
