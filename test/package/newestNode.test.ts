import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/* The newest Node that n8n is run on has another WebSocket, another fetch and other streams. */

const project = join(__dirname, '../..');
const node = join(project, 'tools/newest/node_modules/node/bin/node');

/** Those of sockets, streams, timers and languages: all that differs between Nodes. */
const FILES = /test\/unit\/(?:credential|generationEvents|accountSocket|splitText)\./;

test('the unit tests of what Node brings along pass on the newest one, too', () => {
	const jest = join(project, 'node_modules/jest/bin/jest.js');
	const args = [jest, FILES.source, '--maxWorkers=2', '--silent'];
	const { status, stderr } = spawnSync(node, args, { cwd: project, encoding: 'utf8' });
	expect(stderr).toMatch(/Tests: .*[1-9]\d* passed/);
	expect(status === 0 ? '' : stderr).toBe('');
}, 300_000);
