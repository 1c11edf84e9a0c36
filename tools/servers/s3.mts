import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../cleanup.mts';
import { freePort } from '../n8n/ports.mts';
import { HOST, serve, type Server } from './serve.mts';

const program = join(import.meta.dirname, 's3Process.mjs');

export interface S3 extends Server {
	/** Where buckets lie: `${url}/${bucket}/${key}`, open to readers without a key. */
	url: string;
	/** n8n's credential for it, "AWS (IAM)" with an endpoint of its own. */
	credential: object;
}

/** An S3 server on a free port, with these buckets, all empty. */
export async function startS3(...buckets: string[]): Promise<S3> {
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
	const url = `http://${HOST}:${port}`;
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
