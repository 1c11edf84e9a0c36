import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { urlOf, recordOf } from './http.mts';
import type { WebSocketMode } from './types.mts';
import type { Simulator } from './state.mts';

/** The WebSockets over which the service sends messages about tasks (§6.2). */
export class SocketHub {
	readonly #server = new WebSocketServer({ noServer: true });
	/** The open sockets, each with the token that opened it. */
	readonly #tokenBySocket = new Map<WebSocket, string>();
	/** How handshakes and messages are handled. */
	mode: WebSocketMode = 'normal';
	/** How many sockets were ever opened. */
	openedCount = 0;

	/** How many sockets are open. */
	get size(): number {
		return this.#tokenBySocket.size;
	}

	/**
	 * Answers the handshake of a WebSocket. The path must be `/ws?token=…`; a wrong token gets 401. `earlyBytes` are
	 * bytes that have arrived right after the handshake.
	 */
	upgrade(sim: Simulator, request: IncomingMessage, socket: Duplex, earlyBytes: Buffer): void {
		const url = urlOf(request);
		const record = recordOf('socket', request, url);
		sim.requests.push(record);
		socket.on('error', () => socket.destroy());
		const token = url.searchParams.get('token') ?? '';
		const requestError =
			url.pathname !== '/ws' ? 404 : !sim.validTokens().includes(token) ? 401 : undefined;
		const refusedStatus = requestError ?? (this.mode === 'refuse' ? 403 : undefined);
		if (refusedStatus !== undefined) {
			record.status = refusedStatus;
			socket.end(
				`HTTP/1.1 ${refusedStatus} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
			);
		} else if (this.mode !== 'hang') {
			record.status = 101;
			this.#server.handleUpgrade(request, socket, earlyBytes, (opened) => {
				this.#add(sim, opened, token);
			});
		} else {
			// The handshake is never answered. `resume` reads and discards what the client sends, because Node reports
			// a disconnected client only once all data is read.
			socket.resume();
			socket.on('end', () => socket.destroy());
			socket.on('close', () => {
				record.closedByClient = true;
				sim.notifyWaiters();
			});
		}
		sim.notifyWaiters();
	}

	/** Adds an opened socket, until it closes. */
	#add(sim: Simulator, socket: WebSocket, token: string): void {
		this.openedCount++;
		this.#tokenBySocket.set(socket, token);
		socket.on('error', () => socket.terminate());
		socket.on('close', () => {
			this.#tokenBySocket.delete(socket);
			sim.notifyWaiters();
		});
		sim.notifyWaiters();
	}

	/** Sends a message to all sockets of a token; to none if the mode is `silent`. */
	send(token: string, message: object): void {
		if (this.mode === 'silent') return;
		for (const [socket, owner] of this.#tokenBySocket) {
			if (owner === token) socket.send(JSON.stringify(message));
		}
	}

	/** Sends anything to all sockets in any mode. A string or Buffer is sent as it is, anything else as JSON. */
	broadcast(message: unknown): void {
		const isRaw = typeof message === 'string' || Buffer.isBuffer(message);
		for (const socket of this.#tokenBySocket.keys()) {
			socket.send(isRaw ? message : JSON.stringify(message));
		}
	}

	/** Ends all sockets, or only those of `token`, without a closing handshake. */
	drop(token?: string): void {
		for (const [socket, owner] of this.#tokenBySocket) {
			if (token !== undefined && owner !== token) continue;
			socket.terminate();
			this.#tokenBySocket.delete(socket);
		}
	}
}
