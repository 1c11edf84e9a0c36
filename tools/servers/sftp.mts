import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from '../cleanup.mts';
import { freePort } from '../ports.mts';
import { HOST, programPath, serve, unprivilegedUser } from './serve.mts';

/** Starts OpenSSH on a free port, only for SFTP, with one user and one key. Resolves once it is ready. */
export async function startSftp() {
	const folder = temporaryFolder('sftp');
	const port = await freePort();
	const inFolder = (name: string) => join(folder.path, name);
	for (const name of ['host', 'user']) {
		const args = ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', inFolder(name)];
		execFileSync(programPath('sshKeygen'), args);
	}
	/** The folder in which a client is after the login. */
	const files = inFolder('files');
	mkdirSync(files);
	const settings = [
		`ListenAddress ${HOST}`,
		`Port ${port}`,
		`HostKey ${inFolder('host')}`,
		`AuthorizedKeysFile ${inFolder('user.pub')}`,
		'PidFile none',
		// In strict mode, OpenSSH refuses the key, because it is in a temporary folder, and everybody may write to the
		// folder above that.
		'StrictModes no',
		'PasswordAuthentication no',
		'KbdInteractiveAuthentication no',
		'Subsystem sftp internal-sftp',
		`ForceCommand internal-sftp -d ${files}`,
	];
	writeFileSync(inFolder('config'), settings.join('\n'));
	// Run by root, OpenSSH would need a folder of the operating system.
	const account = unprivilegedUser();
	if (account) {
		for (const path of [folder.path, files, inFolder('host'), inFolder('user.pub')]) {
			chownSync(path, account.uid, account.gid);
		}
	}
	const server = await serve({
		command: programPath('sshd'),
		args: ['-D', '-e', '-f', inFolder('config')],
		folder,
		ready: 'Server listening on',
		account,
	});
	/** The fields of n8n's credential for this server, with a private key. */
	const credential = {
		host: HOST,
		port,
		username: account?.name ?? userInfo().username,
		privateKey: readFileSync(inFolder('user'), 'utf8'),
	};
	return { files, credential, ...server };
}
