import { WebSocketServer } from 'ws';
import { FakeService, type Handler, type Upgrade } from '../service/fakeService.mts';
import { bodyFor, type Answer, type Behaviour } from './randomAnswers';

/** A service that answers as it is told, byte for byte. */

/** An answer as it goes over the wire. */
function bytesOf(answer: Answer, body: Buffer, headers: Array<[string, string]>): Buffer {
	if (answer.framing === 'no http') return body;
	const framing: Record<string, string> = {
		length: `Content-Length: ${body.length}`,
		chunked: 'Transfer-Encoding: chunked',
		'bad chunks': 'Transfer-Encoding: chunked',
		'too long': `Content-Length: ${Math.max(0, body.length - 5)}`,
		'too short': `Content-Length: ${body.length + 5}`,
		close: 'X-End: close',
	};
	// So that no run takes minutes: a service may well ask for that.
	const wait = answer.status === 429 ? ['Retry-After: 0'] : [];
	const start = [
		`HTTP/1.1 ${answer.status} Whatever`,
		framing[answer.framing],
		'Connection: close',
	];
	const head = [...start, ...wait, ...headers.map(([name, value]) => `${name}: ${value}`)];
	const size = Buffer.from(`${body.length.toString(16)}\r\n`);
	const chunk = body.length > 0 ? [size, body, Buffer.from('\r\n')] : [];
	const payload =
		answer.framing === 'chunked'
			? [...chunk, Buffer.from('0\r\n\r\n')]
			: answer.framing === 'bad chunks'
				? [Buffer.from('zz\r\n'), body]
				: [body];
	return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), ...payload]);
}

/** How often the last answer, repeated for ever, refuses for being asked too often. */
const MOST_REFUSALS = 3;

export interface RandomService {
	origin: string;
	/** Method and status of each answer, in order. */
	answered: Array<{ method: string; path: string; status: number }>;
	close(): Promise<void>;
}

/** Starts a service that behaves so; it answers requests in the order in which they come. */
export async function startRandomService(
	{ answers, messages, tokenAsId = false }: Behaviour,
	token: string,
): Promise<RandomService> {
	const answered: RandomService['answered'] = [];
	const acceptor = new WebSocketServer({ noServer: true });
	let origin = '';
	const fill = (text: string) =>
		text
			.replaceAll('{origin}', origin)
			.replaceAll('{id}', tokenAsId ? '{token}' : '7')
			.replaceAll('{token}', token);

	const receive: Handler = (request) => {
		const last = answers.at(-1)!;
		const repeated = answered.length - answers.length;
		// A reading waits for minutes, as it should, where an account that was let through is refused.
		const calmed =
			repeated > MOST_REFUSALS && last.status === 429 ? { ...last, status: 500 } : last;
		const chosen = answers[answered.length] ?? calmed;
		const { method = '', url: path = '', socket } = request;
		answered.push({ method, path, status: chosen.framing === 'no http' ? 0 : chosen.status });
		request.resume();
		request.on('end', () => {
			const headers = chosen.headers.map(([name, value]): [string, string] => [name, fill(value)]);
			const text = bodyFor(`${method} ${path}`, chosen.body);
			const bytes = bytesOf(chosen, Buffer.from(fill(text)), headers);
			const answer = () =>
				socket.write(bytes.subarray(0, chosen.cut ?? bytes.length), () => {
					if (chosen.reset && chosen.cut !== undefined) socket.resetAndDestroy();
					else socket.end();
				});
			setTimeout(answer, chosen.delayMs ?? 0);
		});
	};
	const accept: Upgrade = (request, socket, head) =>
		acceptor.handleUpgrade(request, socket, head, (opened) => {
			opened.on('error', () => {});
			for (const { text, binary } of messages ?? []) {
				opened.send(Buffer.from(fill(text)), { binary });
			}
		});
	const service = await FakeService.start(receive, messages && accept);
	origin = service.url;
	return { origin, answered, close: async () => await service.stop() };
}
