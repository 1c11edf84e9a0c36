import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Random } from './random.mts';
import { odd, PAGE } from './words.mts';

const server = new WebSocketServer({ noServer: true });

/** Answers a handshake, or does not, and says what a service would and would not. */
export function socket(
	request: IncomingMessage,
	duplex: Duplex,
	early: Buffer,
	random: Random,
	token: string,
	tasks: () => string[],
): void {
	duplex.on('error', () => duplex.destroy());
	const kind = random.pick([
		'open',
		'open',
		'open',
		'open',
		'refuse',
		'page',
		'hang',
		'close',
		'noise',
	]);
	if (kind === 'hang') return void duplex.resume().on('end', () => duplex.destroy());
	if (kind === 'close') return void duplex.destroy();
	if (kind === 'noise') return void duplex.end(random.bytes(100));
	if (kind === 'refuse') return void duplex.end('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n');
	if (kind === 'page') return void duplex.end(`HTTP/1.1 200 OK\r\n\r\n${PAGE}`);
	server.handleUpgrade(request, duplex, early, (opened) => {
		opened.on('error', () => opened.terminate());
		chatter(opened, random, token, tasks);
	});
}

function chatter(opened: WebSocket, random: Random, token: string, tasks: () => string[]): void {
	const isDeaf = random.chance(0.2);
	const timer = setInterval(
		() => {
			if (isDeaf) return;
			const kind = random.pick([
				'progress',
				'progress',
				'progress',
				'odd',
				'noise',
				'flood',
				'end',
				'ping',
			]);
			if (kind === 'end' && random.chance(0.1))
				return void random.pick([() => opened.terminate(), () => opened.close(1011)])();
			if (kind === 'ping') return void opened.ping();
			if (kind === 'noise')
				return void opened.send(random.bytes(50), { binary: random.chance(0.5) });
			if (kind === 'flood' && random.chance(0.05)) {
				for (let n = 0; n < 3000; n++) opened.send(progress(random, token, tasks()));
			}
			opened.send(progress(random, token, tasks()));
		},
		random.whole(5, 100),
	);
	opened.on('close', () => clearInterval(timer));
}

function progress(random: Random, token: string, tasks: string[]): string {
	const task_id = random.pick([
		...tasks,
		...tasks,
		random.whole(1, 99),
		random.pick([odd(random, token)]),
	]);
	const process_percentage = random.pick<unknown>([
		0,
		17,
		43,
		99,
		100,
		100,
		101,
		-5,
		'50',
		55.5,
		odd(random, token),
	]);
	const type = random.pick([
		'labs_status_updated',
		'labs_status_updated',
		'other',
		odd(random, token),
	]);
	return JSON.stringify({
		type,
		payload: random.chance(0.95) ? { task_id, process_percentage } : odd(random, token),
	});
}
