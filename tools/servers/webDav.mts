import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../cleanup.mts';
import { freePort } from '../ports.mts';
import { HOST, newPassword, programPath, serve } from './serve.mts';

/** A plain WebDAV server on a free port, with one user. */
export async function startWebDav() {
	const folder = temporaryFolder('webdav');
	const port = await freePort();
	/** Where its files lie on the disk. */
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
	/** n8n's credential of its Nextcloud node for it. */
	const credential = { webDavUrl: `http://${address}`, user, password };
	return { files, credential, ...server };
}
