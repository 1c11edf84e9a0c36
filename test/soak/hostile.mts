import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { PAGE } from '../service/bodies.mts';
import { FakeService } from '../service/fakeService.mts';
import { WebSocketServer, type WebSocket } from 'ws';
import { anyMood, errorBody, file, json, MOODS, odd, stream, type Asked } from './answers.mts';
import { Random } from './random.mts';

const sockets = new WebSocketServer({ noServer: true });

/** A create call, and whether the service has said that it failed. */
interface Post {
	response: ServerResponse;
	hasFailed: boolean;
}

/** Whether a status refuses a create call for good: nothing was accepted. */
const isRefusal = (status: number) => status >= 300 && status < 500 && ![408, 425].includes(status);

/** True when the same may be asked for again: at once after 429, else by Retry On Fail. */
function mayRepeat({ response, hasFailed }: Post, isRetried: boolean): boolean {
	const { headersSent, statusCode } = response;
	if (headersSent && statusCode === 429) return true;
	return isRetried && (hasFailed || (headersSent && isRefusal(statusCode)));
}

/** What belongs to one token: each run has its own. */
interface Account {
	random: Random;
	/** Create calls by their unique text. */
	posts: Map<string, Post[]>;
	/** How often each task was read, and the call that created it. */
	tasks: Map<string, { reads: number; post?: Post }>;
	made: Array<{ id: string; prompt: string; file_url: string; created_at: string }>;
	/** How often something goes wrong. */
	malice: number;
	/** The node runs with Retry On Fail. */
	isRetried: boolean;
	/** How many came so far. */
	requests: number;
}

/**
 * A service that does at random everything that a service, a proxy or a network can do wrong, and
 * now and then what it should. What it does to a token depends on that token's seed alone.
 */
export class Hostile {
	creates = 0;
	private readonly accounts = new Map<string, Account>();
	private readonly services: FakeService[] = [];
	baseUrl = '';
	elsewhere = '';

	private readonly onViolation: (what: string) => void;

	private constructor(onViolation: (what: string) => void) {
		this.onViolation = onViolation;
	}

	/** `onViolation` is told what the node must not have done. */
	static async start(onViolation: (what: string) => void): Promise<Hostile> {
		const hostile = new Hostile(onViolation);
		const api = await FakeService.start(
			(request, response) => hostile.api(request, response),
			(request, socket, early) => hostile.upgrade(request, socket, early),
		);
		const other = await FakeService.start((request, response) => hostile.other(request, response));
		hostile.services.push(api, other);
		hostile.baseUrl = api.url;
		hostile.elsewhere = other.url;
		return hostile;
	}

	/** Opens an account; `malice` is the share of requests that go wrong. */
	open(token: string, seed: number, malice: number, isRetried = false): void {
		const random = new Random(seed);
		const known = { posts: new Map(), tasks: new Map(), made: [], requests: 0 };
		this.accounts.set(token, { random, malice, isRetried, ...known });
	}

	forget(token: string): void {
		this.accounts.delete(token);
	}

	/** How many requests came for one account. */
	requestsOf(token: string): number {
		return this.accounts.get(token)?.requests ?? 0;
	}

	/** How many requests came so far. */
	get requests(): number {
		return this.services.reduce((sum, service) => sum + service.requests.length, 0);
	}

	/** Connections that n8n holds open. */
	connected(): number {
		return this.services.reduce((sum, service) => sum + service.open(), 0);
	}

	async close(): Promise<void> {
		await Promise.all(this.services.map(async (service) => await service.stop()));
	}

	private api(request: IncomingMessage, response: ServerResponse): void {
		const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
		const account = this.accounts.get(token);
		if (!account) {
			// The run is over, or this is a file: those of the API's origin may be asked for without.
			if (token !== '') this.onViolation(`a request long after its run: ${request.url}`);
			return void response.writeHead(401).end();
		}
		account.requests++;
		const parts: Buffer[] = [];
		request.on('data', (part: Buffer) => parts.push(part));
		request.on('error', () => {});
		request.on('end', () => {
			const { random } = account;
			const asked: Asked = { request, response, token, random, elsewhere: this.elsewhere };
			if (request.method === 'POST') this.create(asked, account, Buffer.concat(parts));
			else this.read(asked, account);
		});
	}

	private create(asked: Asked, account: Account, bytes: Buffer): void {
		const { random, response } = asked;
		const body = JSON.parse(bytes.toString()) as Record<string, string>;
		const text = body.input ?? body.prompt ?? '';
		const earlier = account.posts.get(text) ?? [];
		if (!earlier.every((post) => mayRepeat(post, account.isRetried))) {
			this.onViolation(`a second create call of "${text}"`);
		}
		const post: Post = { response, hasFailed: false };
		account.posts.set(text, [...earlier, post]);
		this.creates++;
		if (random.chance(account.malice)) {
			const mood = anyMood(random);
			post.hasFailed = mood === 'errorWith200';
			return MOODS[mood]!(asked);
		}
		if (asked.request.url!.includes('/task')) {
			const id = random.pick([String(random.whole(1, 1e9)), `t-${random.whole(1, 1e9)}`]);
			account.tasks.set(id, { reads: 0, post });
			const answers: unknown[] = [{ task_id: id }, { id }, { data: { task_id: id } }];
			return json(asked, random.pick(answers));
		}
		const made = Array.from({ length: random.whole(1, 3) }, () => this.make(asked, text));
		if (random.chance(0.7)) account.made.unshift(...made);
		stream(asked, made, () => (post.hasFailed = true));
	}

	private make({ random, token }: Asked, prompt: string) {
		const id = random.pick([`m-${random.whole(1, 1e9)}`, String(random.whole(1, 1e9))]);
		const file_url = this.address(random, token);
		return { id, prompt, file_url, created_at: new Date().toISOString() };
	}

	private address(random: Random, token: string): string {
		const path = `/files/${random.whole(1, 1e9)}.${random.pick(['wav', 'png', 'mp4', 'bin'])}`;
		const usual = this.elsewhere + path;
		const telling = `${usual}?token=${encodeURIComponent(token)}`;
		const refused = 'http://127.0.0.1:1/refused';
		return random.pick([usual, usual, usual, this.baseUrl + path, path, telling, refused]);
	}

	private read(asked: Asked, account: Account): void {
		const { random, request, token } = asked;
		const path = request.url!.split('?')[0]!;
		if (path.startsWith('/files/')) return file(asked);
		if (random.chance(account.malice)) return MOODS[anyMood(random)]!(asked);
		if (path.startsWith('/v1/labs/task/')) return this.readTask(asked, account);
		if (path.endsWith('/me'))
			return json(asked, { balance: 0, token, credits: [odd(random, token)] });
		const entries: unknown[] = path.endsWith('/voices')
			? Array.from({ length: random.whole(0, 120) }, (_, n) => ({
					voice_id: `v${n}`,
					name: odd(random, token),
				}))
			: [...account.made, ...Array.from({ length: random.whole(0, 5) }, () => odd(random, token))];
		const total = random.pick<unknown>([entries.length, 1e9, '7', null]);
		const data = { data: entries, page: random.whole(0, 9), total };
		const voices = { voices: entries, page_size: 100 };
		json(asked, random.pick<unknown>([entries, entries, data, voices]));
	}

	private readTask(asked: Asked, account: Account): void {
		const { random, token, request } = asked;
		const id = decodeURIComponent(request.url!.split('/').pop()!);
		const task = account.tasks.get(id) ?? { reads: 0 };
		const reads = ++task.reads;
		account.tasks.set(id, task);
		if (request.method === 'DELETE') return void asked.response.end(random.pick(['', '{}', 'ok']));
		const words = ['pending', 'processing', 'PROCESSING', 'queued_somewhere', token];
		const status = random.pick([...words, odd(random, token)]);
		if (reads < random.whole(1, 4))
			return json(asked, { id, status, process_percentage: odd(random, token) });
		if (random.chance(0.15)) {
			const failed = random.pick(['error', 'failed', 'Cancelled', 'canceled']);
			if (task.post) task.post.hasFailed = true;
			return json(asked, { id, status: failed, ...(errorBody(random, token) as object | null) });
		}
		const address = random.pick<unknown>([
			this.address(random, token),
			{ url: this.address(random, token) },
			odd(random, token),
			'javascript:alert(1)',
		]);
		const field = random.pick(['audio_url', 'result', 'audio_url', 'file_url']);
		const done = random.pick(['completed', 'COMPLETED']);
		json(asked, { id, status: done, [field]: address, extra: token });
	}

	private other(request: IncomingMessage, response: ServerResponse): void {
		if (request.headers.authorization !== undefined) this.onViolation('the token went elsewhere');
		const seed = Number(/\d+/.exec(request.url!)?.[0] ?? 1);
		const random = new Random(seed + this.requests);
		// The token is not known here, unless the service has put it into the address.
		file({ request, response, random, token: 'nobody', elsewhere: this.elsewhere });
	}

	/** Answers a handshake or leaves it. */
	private upgrade(request: IncomingMessage, duplex: Socket, early: Buffer): void {
		const token = new URL(request.url!, this.baseUrl).searchParams.get('token') ?? '';
		const account = this.accounts.get(token);
		if (!account) return void duplex.destroy();
		duplex.on('error', () => duplex.destroy());
		const kind = account.random.word('open open open refuse page hang close noise');
		if (kind === 'hang') return void duplex.resume().on('end', () => duplex.destroy());
		if (kind === 'close') return void duplex.destroy();
		if (kind === 'noise') return void duplex.end(account.random.bytes(100));
		if (kind === 'refuse') return void duplex.end('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n');
		if (kind === 'page') return void duplex.end(`HTTP/1.1 200 OK\r\n\r\n${PAGE}`);
		sockets.handleUpgrade(request, duplex, early, (opened) => {
			opened.on('error', () => opened.terminate());
			chatter(opened, account, token);
		});
	}
}

/** Says what a service would and would not say. */
function chatter(opened: WebSocket, { random, tasks }: Account, token: string): void {
	const message = () => {
		const task_id = random.pick([...tasks.keys(), random.whole(1, 99), odd(random, token)]);
		const process_percentage = random.pick([0, 43, 99, 100, 101, -5, 55.5, odd(random, token)]);
		const type = random.pick<unknown>(['labs_status_updated', 'other', odd(random, token)]);
		const payload = random.pick<unknown>([{ task_id, process_percentage }, odd(random, token)]);
		return JSON.stringify({ type, payload });
	};
	const timer = setInterval(
		() => {
			const kind = random.word('progress progress progress progress noise flood end ping');
			if (kind === 'end' && random.chance(0.1)) opened.terminate();
			else if (kind === 'ping') opened.ping();
			else if (kind === 'noise') opened.send(random.bytes(50), { binary: random.chance(0.5) });
			else if (kind === 'flood' && random.chance(0.05)) {
				for (let n = 0; n < 3000; n++) opened.send(message());
			} else opened.send(message());
		},
		random.whole(5, 100),
	);
	opened.on('close', () => clearInterval(timer));
}
