import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../cleanup.mts';
import { freePort } from '../n8n/ports.mts';
import { HOST, newPassword, programPath, serve, type Server } from './serve.mts';

export interface WebDav extends Server {
	/** Where its files lie on the disk. */
	files: string;
	/** n8n's credential of its Nextcloud node for it. */
	credential: object;
}

/** A plain WebDAV server on a free port, with one user. */
export async function startWebDav(): Promise<WebDav> {
	const folder = temporaryFolder('webdav');
	const port = await freePort();
	const files = join(folder.path, 'files');
	mkdirSync(files);
	const user = 'n8n';
	const password = newPassword();
	const address = `${HOST}:${port}`;
	const server = await serve({
		command: programPath('rclone'),
		args: ['serve', 'webdav', files, '--addr', address, '--user', user, '--pass', password],
		folder,
		ready: 'WebDav Server started on',
	});
	return { files, credential: { webDavUrl: `http://${address}`, user, password }, ...server };
}
