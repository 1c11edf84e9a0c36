import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** One WebSocket as the server sees it. */
export interface DeafConnection {
	/** The client has asked to close it. */
	isAsked: boolean;
	/** Sends a text of at most 125 bytes. */
	send(text: string): void;
	destroy(): void;
}

/** A service that delivers messages but never answers a close frame. */
export async function startDeafServer() {
	const open: DeafConnection[] = [];
	let ever = 0;
	let changed = () => {};
	const server = createServer();
	server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
		const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
		const accept = createHash('sha1').update(key).digest('base64');
		const connection: DeafConnection = {
			isAsked: false,
			send: (text) => socket.write(Buffer.from([0x81, text.length, ...Buffer.from(text)])),
			destroy: () => socket.destroy(),
		};
		socket.on('error', () => {});
		socket.on('data', ([first]: Buffer) => {
			if (first === 0x88) connection.isAsked = true;
			changed();
		});
		socket.on('close', () => {
			open.splice(open.indexOf(connection), 1);
			changed();
		});
		ever++;
		open.push(connection);
		socket.write(
			`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
		);
		changed();
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	return {
		url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
		/** Connections that stand, oldest first. */
		open,
		ever: () => ever,
		/** Resolves once `holds`. */
		async until(holds: () => boolean) {
			while (!holds()) await new Promise<void>((resolve) => (changed = resolve));
		},
		async close() {
			for (const connection of [...open]) connection.destroy();
			server.close();
			await once(server, 'close');
		},
	};
}
