import { createHash } from 'node:crypto';
import { FakeService, type Upgrade } from '../service/fakeService.mts';

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
	const accept: Upgrade = (request, socket) => {
		const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
		const answer = createHash('sha1').update(key).digest('base64');
		const connection: DeafConnection = {
			isAsked: false,
			send: (text) => socket.write(Buffer.from([0x81, text.length, ...Buffer.from(text)])),
			destroy: () => socket.destroy(),
		};
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
			`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${answer}\r\n\r\n`,
		);
		changed();
	};
	const service = await FakeService.start((_, response) => void response.end(), accept);
	return {
		url: service.url.replace('http', 'ws'),
		/** Connections that stand, oldest first. */
		open,
		ever: () => ever,
		/** Resolves once `holds`. */
		async until(holds: () => boolean) {
			while (!holds()) await new Promise<void>((resolve) => (changed = resolve));
		},
		close: async () => await service.stop(),
	};
}
