import { type Clock, type Process } from './clock.mts';
import type { Ledger } from './ledger.mts';
import type { Exchange, Socket } from './network.mts';
import { share } from './random.mts';
import type { Fault, World } from './world.mts';

export const API = 'https://api.worlds.test';
const FILES = 'https://files.worlds.test';
export const TOKEN = 'token/of+the=worlds';
const PAGE = '<html><body><h1>502 Bad Gateway</h1></body></html>';
const KINDS = {
	'text-to-video': 'video',
	'ingredients-to-video': 'video',
	'frames-to-video': 'video',
	'create-image': 'image',
} as const;

type Kind = 'speech' | 'video' | 'image';

/** Something that was ordered, and is paid for. */
interface Work {
	id: string;
	kind: Kind;
	text: string;
	amount: number;
	begun: number;
	/** Undefined while it is being made; ms since the world began. */
	over?: number;
	hasFailed?: boolean;
	attempt: number | undefined;
	/** Who made a video or image listens to its stream. */
	stream?: Exchange;
}

/** The service of docs and field notes, without sockets, in virtual time; what happens is in the ledger. */
export class Service {
	readonly works: Work[] = [];
	private readonly sockets = new Set<Socket>();
	private readonly exchanges = new Set<Exchange>();
	private readonly asked: number[] = [];
	private creates = 0;

	private readonly world: World;
	/** Each has what its kind needs. */
	private readonly faults: Array<Required<Fault>>;
	private readonly clock: Clock;
	private readonly ledger: Ledger;

	constructor(world: World, clock: Clock, ledger: Ledger) {
		this.world = world;
		this.faults = world.faults as Array<Required<Fault>>;
		this.clock = clock;
		this.ledger = ledger;
		for (const fault of world.faults) {
			const { kind, at = 0, forMs = 0, what, as } = fault;
			clock.after(at, () => {
				ledger.note({ what: 'fault', fault: JSON.stringify(fault), ends: at + forMs });
				const isCut = kind === 'sockets' && as !== 'deaf';
				if (kind === 'outage' || what === 'streams') this.cutStreams();
				if (kind === 'outage' || what === 'sockets' || isCut) this.cutSockets();
			});
		}
	}

	/** Requests and sockets that a live process has open. */
	open(): { requests: number; sockets: number } {
		const alive = <T extends { process: Process }>(all: Set<T>) =>
			[...all].filter(({ process }) => !process.isDead);
		return {
			requests: alive(this.exchanges).filter(({ isOver }) => !isOver).length,
			sockets: alive(this.sockets).length,
		};
	}

	/** A process has died, and its connections with it. */
	forget(process: Process): void {
		for (const socket of this.sockets) if (socket.process === process) this.sockets.delete(socket);
		for (const exchange of this.exchanges) if (exchange.process === process) exchange.isOver = true;
	}

	/** Somebody else's order. */
	order(operation: 'speak' | 'textToVideo', text: string): string {
		const work = this.begin(operation === 'speak' ? 'speech' : 'video', text, 1, undefined);
		this.ledger.note({ what: 'charge', n: -1, id: work.id, text, amount: 1, underWay: 0 });
		this.make(work);
		return work.id;
	}

	/** The fault of a kind that holds now. */
	private fault(wanted: Fault['kind']): Required<Fault> | undefined {
		const { now } = this.clock;
		return this.faults.find(({ kind, at = 0, forMs = 0 }) => {
			return kind === wanted && now >= at && now < at + forMs;
		});
	}

	private hits(wanted: Fault['kind'], create: number): Required<Fault> | undefined {
		return this.faults.find((fault) => fault.kind === wanted && fault.create === create);
	}

	receive(exchange: Exchange): void {
		const { n, method, url, sent, authorization, process, attempt } = exchange;
		this.exchanges.add(exchange);
		const text = (sent.input ?? sent.prompt) as string | undefined;
		this.ledger.note({ what: 'request', n, method, host: url.host, path: url.pathname, text });
		this.ledger.note({ what: 'asked', n, attempt, process: process.name });
		if (url.href.includes(encodeURIComponent(TOKEN)))
			this.ledger.note({ what: 'token', n, where: 'address' });
		if (authorization.includes(TOKEN)) this.ledger.note({ what: 'token', n, where: 'header' });
		this.clock.after(5 + 30 * share(this.world.seed, 'way', n), () => {
			if (!exchange.isOver) this.handle(exchange);
		});
	}

	private handle(exchange: Exchange): void {
		const { n, method, url } = exchange;
		const outage = this.fault('outage');
		if (outage) return this.fail(exchange, outage.as);
		if (url.origin === FILES) return this.serve(exchange);
		if (exchange.authorization !== `Bearer ${TOKEN}`)
			return this.json(exchange, 401, { error: 'invalid_token' });
		const rate = this.fault('rate');
		if (rate) {
			const { now } = this.clock;
			while (this.asked.length > 0 && this.asked[0]! <= now - rate.windowMs) this.asked.shift();
			if (this.asked.length >= rate.most) {
				const restMs = this.asked[0]! + rate.windowMs - now;
				const headers = rate.says ? { 'retry-after': String(Math.ceil(restMs / 1000)) } : {};
				return this.refuse(exchange, 429, 'Too many requests', headers);
			}
			this.asked.push(now);
		}
		const [, area, name, id] = /^\/v1\/(\w+)\/([\w-]+)(?:\/(.+))?$/.exec(url.pathname) ?? [];
		if (method === 'POST')
			return this.create(exchange, area === 'labs' ? 'speech' : KINDS[name as never]);
		if (area === 'labs' && id) return this.read(exchange, decodeURIComponent(id));
		if (name === 'histories') return this.list(exchange);
		if (name === 'me') return this.json(exchange, 200, { available_quota: 100 });
		this.ledger.note({ what: 'refusal', n, why: 'unknown' });
		this.json(exchange, 404, { error: 'not_found' });
	}

	private json(exchange: Exchange, status: number, body: object | string, headers = {}): void {
		const text = typeof body === 'string' ? body : JSON.stringify(body);
		const type = typeof body === 'string' ? 'text/html' : 'application/json';
		this.ledger.note({ what: 'answer', n: exchange.n, status });
		exchange.begin(status, {
			'content-type': type,
			'content-length': String(text.length),
			...headers,
		});
		exchange.write(text);
		exchange.end();
	}

	private fail(exchange: Exchange, as: number | string): void {
		if (typeof as === 'number')
			return this.json(exchange, as, as === 500 ? { error: 'internal' } : PAGE);
		if (as === 'html') return this.json(exchange, 403, PAGE);
		this.ledger.note({ what: 'answer', n: exchange.n, status: as === 'refused' ? -1 : 0 });
		exchange.reset(as === 'refused' ? 'ECONNREFUSED' : 'ECONNRESET');
	}

	/** Error bodies repeat the token, as some deployments do. */
	private refuse(exchange: Exchange, status: number, why: string, headers = {}): void {
		this.ledger.note({ what: 'refusal', n: exchange.n, why });
		const echo = share(this.world.seed, 'echo') < 0.3 ? ` (${exchange.authorization})` : '';
		this.json(exchange, status, { error: why + echo }, headers);
	}

	private create(exchange: Exchange, kind: Kind): void {
		const { sent, n, attempt } = exchange;
		const quota = this.fault('quota');
		if (quota) {
			const text =
				quota.as === 402
					? 'insufficient_credits'
					: 'You exceeded your current quota, please check your plan and billing details.';
			return this.refuse(exchange, Number(quota.as), text);
		}
		const atOnce = this.fault('atOnce');
		const underWay = this.works.filter(({ over }) => over === undefined).length;
		const isTooMuch = atOnce !== undefined && underWay >= atOnce.most;
		if (isTooMuch && atOnce.as === 429)
			return this.refuse(exchange, 429, 'Too many concurrent tasks');
		const create = this.creates++;
		const lost = this.hits('lost', create);
		if (lost && !lost.isAccepted) return this.lose(exchange, lost.as);
		const text = String(sent.input ?? sent.prompt);
		const work = this.begin(kind, text, Number(sent.number_of_videos ?? 1), attempt);
		const own = this.works.filter((other) => other.attempt === attempt && other.over === undefined);
		const { id, amount } = work;
		this.ledger.note({ what: 'charge', n, id, text, amount, underWay: own.length });
		if (lost) this.lose(exchange, lost.as);
		const fails = this.hits('fails', create)
			? 'The content was refused'
			: isTooMuch
				? 'Too many concurrent tasks'
				: '';
		if (kind !== 'speech')
			return this.stream(work, exchange, fails, this.hits('silent', create) !== undefined);
		const isEarly = this.fault('messages')?.as === 'early';
		this.make(work, fails);
		this.clock.after(isEarly ? 2500 : 1, () => {
			if (exchange.isOver || lost) return;
			this.ledger.note({ what: 'told', id });
			this.json(exchange, 200, { task_id: id });
		});
	}

	private lose(exchange: Exchange, as: string | number): void {
		if (as !== 'hang') this.fail(exchange, as);
	}

	private begin(kind: Kind, text: string, amount: number, attempt: number | undefined): Work {
		const id = `${kind}-${this.works.length}`;
		const work: Work = { id, kind, text, amount, begun: this.clock.now, attempt };
		this.works.push(work);
		return work;
	}

	/** Makes it in its time; calls `done` with its files, or none if it has failed. */
	private make(work: Work, failure = '', done: () => void = () => {}): void {
		const { seed } = this.world;
		const lasts = { speech: [2, 60], video: [30, 150], image: [4, 40] }[work.kind];
		const ms = 1000 * (lasts[0]! + (lasts[1]! - lasts[0]!) * share(seed, 'lasts', work.text) ** 2);
		const steps = [21, 43, 71, 93].slice(Math.floor(4 * share(seed, 'steps', work.text)));
		if (work.kind === 'speech') {
			steps.forEach((step) => this.clock.after((ms * step) / 100, () => this.push(work, step)));
		}
		this.clock.after(failure ? ms / 3 : ms, () => {
			if (work.over !== undefined) return;
			work.over = this.clock.now;
			work.hasFailed = failure !== '';
			const { id } = work;
			if (failure) this.ledger.note({ what: 'failed', id, isTold: false });
			else this.ledger.note({ what: 'made', id, marks: marksOf(work) });
			done();
			if (work.kind === 'speech' && !failure) this.push(work, 100);
		});
	}

	private push({ id, over }: Work, percentage: number): void {
		if (over !== undefined && percentage < 100) return;
		const as = this.fault('messages')?.as;
		if (as === 'none') return;
		const say = () => {
			if (this.fault('sockets')?.as === 'deaf') return;
			for (const socket of this.sockets) {
				if (socket.readyState !== 1 || socket.process.isDead) continue;
				this.ledger.note({ what: 'heard', id, percentage, process: socket.process.name });
				socket.said({
					type: 'labs_status_updated',
					payload: { task_id: id, process_percentage: percentage },
				});
			}
		};
		this.clock.after(as === 'late' ? 8000 : 1, say);
		if (as === 'twice') this.clock.after(percentage === 100 ? 65_000 : 300, say);
	}

	private stream(work: Work, exchange: Exchange, failure: string, isSilent: boolean): void {
		const { id, kind } = work;
		const tell = (name: string, data: unknown) =>
			exchange.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
		work.stream = exchange;
		if (!exchange.isOver) exchange.begin(200, { 'content-type': 'text/event-stream' });
		tell(`${kind}_generation_status`, 'starting');
		this.clock.after(1500, () => tell(`${kind}_generation_status`, 'processing'));
		if (isSilent) this.clock.after(2500, () => exchange.end());
		this.make(work, failure, () => {
			const hasEnded = isSilent && this.clock.now > work.begun + 2500;
			const isTold = !hasEnded && !exchange.isOver && !exchange.process.isDead;
			if (isTold) this.ledger.note(failure ? { what: 'failed', id, isTold } : { what: 'told', id });
			if (failure) tell('error', { code: 400, error: failure });
			else tell(`${kind}_generation_complete`, this.entriesOf(work));
			exchange.end();
		});
	}

	private read(exchange: Exchange, id: string): void {
		const work = this.works.find((one) => one.id === id && one.kind === 'speech');
		const lag = this.fault('lag');
		if (!work || (lag && this.clock.now < work.begun + lag.lagMs)) {
			return this.json(exchange, 404, { error: 'task_not_found' });
		}
		const { over, hasFailed, text: input } = work;
		if (over === undefined) return this.json(exchange, 200, { id, status: 'processing', input });
		if (hasFailed) {
			this.ledger.note({ what: 'failed', id, isTold: true });
			return this.json(exchange, 200, {
				id,
				status: 'error',
				error: 'Too many concurrent tasks',
				input,
			});
		}
		const bare = this.fault('bare');
		const isBare = bare && this.clock.now < over + bare.bareMs;
		const address = isBare ? {} : { audio_url: addressOf(marksOf(work)[0]!, work.kind) };
		this.json(exchange, 200, { id, status: 'completed', input, ...address });
	}

	private entriesOf(work: Work) {
		return marksOf(work).map((mark) => ({
			id: mark,
			prompt: work.text,
			type: work.kind,
			file_url: addressOf(mark, work.kind),
			status: 'completed',
			created_at: new Date(Date.now() + work.begun - this.clock.now)
				.toISOString()
				.replace('Z', '+00:00'),
		}));
	}

	private list(exchange: Exchange): void {
		const size = Number(exchange.url.searchParams.get('page_size') ?? 20);
		const page = Number(exchange.url.searchParams.get('page') ?? 1);
		const all = this.works
			.filter(({ kind, over, hasFailed }) => kind !== 'speech' && over !== undefined && !hasFailed)
			.sort((a, b) => b.over! - a.over!)
			.flatMap((work) => this.entriesOf(work));
		const data = all.slice((page - 1) * size, page * size);
		const total_pages = Math.ceil(all.length / size);
		this.json(exchange, 200, { data, total: all.length, page, page_size: size, total_pages });
	}

	private serve(exchange: Exchange): void {
		const mark = /\/([^/]+)\.\w+$/.exec(exchange.url.pathname)?.[1] ?? '';
		const { as, youngMs = 0 } = this.fault('files') ?? {};
		const work = this.works.find(
			({ id }) => mark.startsWith(id) && !/\d/.test(mark.charAt(id.length)),
		);
		const fault = work && this.clock.now < (work.over ?? 0) + youngMs ? as : undefined;
		if (fault === 404 || fault === 503) return this.json(exchange, fault, PAGE);
		const bytes = fileOf(mark);
		const isWhole = fault !== 'cut';
		this.ledger.note({ what: 'answer', n: exchange.n, status: 200 });
		exchange.begin(200, {
			'content-type': 'application/octet-stream',
			'content-length': String(bytes.length),
		});
		exchange.write(isWhole ? bytes : bytes.subarray(0, 100));
		this.clock.after(20, () => {
			if (!isWhole) return exchange.reset();
			this.ledger.note({ what: 'served', mark });
			exchange.end();
		});
	}

	join(socket: Socket, url: URL): void {
		const way = this.fault('outage') ? 'refused' : this.fault('sockets')?.as;
		this.clock.after(20, () => {
			const isOwner = url.searchParams.get('token') === TOKEN;
			if (way === 'refused' || !isOwner || socket.readyState > 0) return socket.closed();
			this.sockets.add(socket);
			this.ledger.note({ what: 'socket', process: socket.process.name, isOpen: true });
			socket.opened();
		});
	}

	leave(socket: Socket): void {
		this.sockets.delete(socket);
		this.ledger.note({ what: 'socket', process: socket.process.name, isOpen: false });
		socket.closed();
	}

	private cutSockets(): void {
		for (const socket of [...this.sockets]) this.leave(socket);
	}

	private cutStreams(): void {
		for (const { stream } of this.works) stream?.reset();
	}
}

/** The names of its files, which are also in their bytes. */
const marksOf = ({ id, amount }: Work) =>
	Array.from({ length: amount }, (_, index) => (amount === 1 ? id : `${id}-${index + 1}`));

const TYPES = { speech: 'wav', video: 'mp4', image: 'png' };
const addressOf = (mark: string, kind: Kind) => `${FILES}/made/${mark}.${TYPES[kind]}?signature=s`;

function fileOf(mark: string): Buffer {
	const body = Buffer.alloc(320, `<${mark}>`);
	if (mark.startsWith('video'))
		return Buffer.concat([Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isommp42', 'latin1'), body]);
	if (mark.startsWith('image'))
		return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), body]);
	const head = Buffer.alloc(44);
	head.write('RIFF\0\0\0\0WAVEfmt ', 'latin1');
	head.writeUInt32LE(36 + body.length, 4);
	head.writeUInt32LE(16, 16);
	for (const [at, value] of [
		[20, 1],
		[22, 1],
		[32, 2],
		[34, 16],
	] as const)
		head.writeUInt16LE(value, at);
	head.writeUInt32LE(8000, 24);
	head.writeUInt32LE(16_000, 28);
	head.write('data', 36, 'latin1');
	head.writeUInt32LE(body.length, 40);
	return Buffer.concat([head, body]);
}
