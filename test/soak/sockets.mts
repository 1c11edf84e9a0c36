import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { PAGE } from '../service/bodies.mts';
import type { Random } from './random.mts';
import { odd } from './words.mts';

const server = new WebSocketServer({ noServer: true });
const PERCENTAGES = [0, 17, 43, 99, 100, 100, 101, -5, 55.5];
const TYPES = ['labs_status_updated', 'labs_status_updated', 'other'];

/** Answers a handshake or leaves it, and then says what a service would and would not say. */
export function socket(
	request: IncomingMessage,
	duplex: Duplex,
	early: Buffer,
	random: Random,
	token: string,
	tasks: () => string[],
): void {
	duplex.on('error', () => duplex.destroy());
	const kind = random.word('open open open open refuse page hang close noise');
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
	const isMute = random.chance(0.2);
	const timer = setInterval(
		() => {
			if (isMute) return;
			const kind = random.word('progress progress progress odd noise flood end ping');
			if (kind === 'end' && random.chance(0.1)) {
				return random.chance(0.5) ? opened.terminate() : opened.close(1011);
			}
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
	const task_id = random.pick([...tasks, ...tasks, random.whole(1, 99), odd(random, token)]);
	const process_percentage = random.pick([...PERCENTAGES, '50', odd(random, token)]);
	const type = random.pick([...TYPES, odd(random, token)]);
	return JSON.stringify({
		type,
		payload: random.chance(0.95) ? { task_id, process_percentage } : odd(random, token),
	});
}
