import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../cleanup.mts';
import { freePort } from '../ports.mts';
import { HOST, serve } from './serve.mts';

const program = join(import.meta.dirname, 's3Process.mjs');

export type S3 = Awaited<ReturnType<typeof startS3>>;

/** An S3 server on a free port, with these buckets, all empty. */
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
	/** Where buckets lie: `${url}/${bucket}/${key}`, open to readers without a key. */
	const url = `http://${HOST}:${port}`;
	/** n8n's credential for it, "AWS (IAM)" with an endpoint of its own. */
	const credential = {
		region: 'us-east-1',
		// The only pair of keys that it knows.
		accessKeyId: 'S3RVER',
		secretAccessKey: 'S3RVER',
		customEndpoints: true,
		s3Endpoint: url,
	};
	return { url, credential, ...server };
}
