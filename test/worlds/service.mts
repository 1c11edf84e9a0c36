import { randomFrom, seedOf } from '../../simulator/media/random.mts';
import { wavHeader } from '../../simulator/media/wav.mts';
import type { Clock } from './clock.mts';
import type { Fact } from './ledger.mts';
import type { Exchange, Socket } from './network.mts';
import type { Fault, World } from './world.mts';

export const API = 'https://api.worlds.test';
const FILES = 'https://files.worlds.test';
export const TOKEN = 'token/of+the=worlds';
const PAGE = '<html><body><h1>502 Bad Gateway</h1></body></html>';
const FULL = 'Too many concurrent tasks';
const NO_QUOTA = 'You exceeded your current quota, please check your plan and billing details.';

/** Of each kind the extension, how a file begins, and how long it takes to make one, in ms. */
const KINDS = {
	speech: { type: 'wav', head: wavHeader(320), least: 2000, most: 60_000 },
	video: { type: 'mp4', head: '\0\0\0\x18ftypisom\0\0\0\0isommp42', least: 30_000, most: 150_000 },
	image: { type: 'png', head: '\x89PNG\r\n\x1a\n', least: 4000, most: 40_000 },
};
const SRT = '1\n00:00:00,000 --> 00:00:01,000\n';

/** Something that was ordered, and is paid for. */
interface Work {
	id: string;
	kind: keyof typeof KINDS;
	text: string;
	/** The names of its files, which are also in their bytes. */
	marks: string[];
	/** In ms since the world began; `over` is undefined while it is being made. */
	begun: number;
	over?: number;
	createdAt: string;
	/** Why it will fail. */
	failure?: string;
	attempt?: number;
	/** Who made a video or image listens to its stream, and is told of its end. */
	stream?: Exchange;
	onEnd?: () => void;
}

const addressOf = (mark: string, type: string) => `${FILES}/made/${mark}.${type}?signature=s`;

const entriesOf = ({ marks, text: prompt, kind, createdAt: created_at }: Work) =>
	marks.map((id) => {
		const file_url = addressOf(id, KINDS[kind].type);
		return { id, prompt, type: kind, file_url, status: 'completed', created_at };
	});

/** The service of docs and field notes, without sockets, in virtual time; what happens is noted. */
export class Service {
	private readonly works: Work[] = [];
	private readonly sockets = new Set<Socket>();
	private readonly exchanges: Exchange[] = [];
	/** When the account has sent what counts for a limit, in ms. */
	private readonly counted: number[] = [];
	private creates = 0;

	private readonly world: World;
	private readonly clock: Clock;
	private readonly note: (fact: Fact) => void;

	constructor(world: World, clock: Clock, note: (fact: Fact) => void) {
		this.world = world;
		this.clock = clock;
		this.note = note;
		for (const fault of world.faults) clock.after(fault.at, () => this.strike(fault));
	}

	private strike({ kind, at, forMs, as, ms }: Fault): void {
		this.note({ what: 'fault', kind, as, ms, ends: at + forMs });
		if (kind === 'outage' || as === 'streams')
			for (const { stream } of this.works) stream?.onReset('ECONNRESET');
		if (kind === 'outage' || as === 'sockets' || (kind === 'sockets' && as !== 'deaf'))
			for (const socket of this.sockets) this.leave(socket);
	}

	/** Requests and sockets that a live process has open. */
	open(): { requests: number; sockets: number } {
		const requests = this.exchanges.filter(({ isOver }) => !isOver).length;
		const alive = [...this.sockets].filter(({ who }) => !who.process.isDead);
		return { requests, sockets: alive.length };
	}

	/** Somebody else's order; returns its id. */
	order(kind: Work['kind'], text: string): string {
		const work = this.begin(kind, text);
		this.make(work);
		return work.id;
	}

	/** The task of this text, made by somebody else. */
	taskOf(text: string): string {
		return this.works.find((work) => work.text === text)?.id ?? this.order('speech', text);
	}

	/** The fault of a kind that holds now, or that hits a create call. */
	private fault(wanted: Fault['kind'], call?: number): Fault | undefined {
		const { now } = this.clock;
		return this.world.faults.find(({ kind, at, forMs, create = call }) => {
			return kind === wanted && now >= at && now < at + forMs && create === call;
		});
	}

	/** From 0 to below 1; the same words, the same number. */
	private share(...words: unknown[]): number {
		return randomFrom(seedOf([this.world.seed, ...words].join(' ')))();
	}

	receive(exchange: Exchange): void {
		const { n, method, url, sent, authorization, who } = exchange;
		this.exchanges.push(exchange);
		const isAstray = url.href.includes(encodeURIComponent(TOKEN));
		this.note({
			...{ what: 'request', n, method, host: url.host, path: url.pathname },
			text: (sent.input ?? sent.prompt) as string | undefined,
			token: isAstray ? 'address' : authorization.includes(TOKEN) ? 'header' : undefined,
			...{ process: who.process.name, attempt: who.attempt },
		});
		this.clock.after(5 + 30 * this.share('way', n), () => this.handle(exchange));
	}

	private handle(exchange: Exchange): void {
		const { method, url, authorization } = exchange;
		if (exchange.body.destroyed) return;
		const outage = this.fault('outage');
		if (outage) return this.fail(exchange, outage.as);
		if (url.origin === FILES) return this.serve(exchange);
		if (authorization !== `Bearer ${TOKEN}`) return this.refuse(exchange, 401, 'invalid_token');
		const restMs = this.restMs();
		if (restMs > 0) {
			const isTold = this.fault('rate')!.as === 'told';
			const headers = isTold ? { 'retry-after': String(Math.ceil(restMs / 1000)) } : {};
			return this.refuse(exchange, 429, 'Too many requests', headers);
		}
		const [name, id] = url.pathname.split('/').slice(3);
		const isImage = name === 'create-image';
		if (method === 'POST')
			return this.create(exchange, name === 'task' ? 'speech' : isImage ? 'image' : 'video');
		if (id) return this.read(exchange, decodeURIComponent(id));
		if (name === 'histories') return this.list(exchange);
		this.answer(exchange, 200, { available_quota: 100 });
	}

	/** How long the account has to rest, in ms; if it has not, this request counts. */
	private restMs(): number {
		const { most = Infinity, ms = 0 } = this.fault('rate') ?? {};
		const { now } = this.clock;
		const first = this.counted.at(-most);
		if (first !== undefined && first > now - ms) return first + ms - now;
		this.counted.push(now);
		return 0;
	}

	private answer(exchange: Exchange, status: number, body: object | string, headers = {}): void {
		const isPage = typeof body === 'string';
		this.answerHead(exchange, status, isPage ? 'text/html' : 'application/json', headers);
		exchange.write(isPage ? body : JSON.stringify(body));
		exchange.end();
	}

	private answerHead(exchange: Exchange, status: number, type: string, headers = {}): void {
		this.note({ what: 'answer', n: exchange.n, status });
		exchange.onHead(status, { 'content-type': type, ...headers });
	}

	/** What stands between fails: a status with a page, a connection that ends, or no answer at all. */
	private fail(exchange: Exchange, as: Fault['as']): void {
		if (as === 'hang') return;
		if (typeof as === 'number') return this.answer(exchange, as, PAGE);
		this.note({ what: 'answer', n: exchange.n, status: as === 'refused' ? -1 : 0 });
		exchange.onReset(as === 'refused' ? 'ECONNREFUSED' : 'ECONNRESET');
	}

	/** Error bodies repeat the token, as some deployments do. */
	private refuse(exchange: Exchange, status: number, why: string, headers?: object): void {
		const echo = this.share('echo') < 0.3 ? ` (${exchange.authorization})` : '';
		this.answer(exchange, status, { error: why + echo }, headers);
	}

	private create(exchange: Exchange, kind: Work['kind']): void {
		const { sent, n, who } = exchange;
		const quota = this.fault('quota');
		if (quota) return this.refuse(exchange, Number(quota.as), NO_QUOTA);
		const { most = Infinity, as } = this.fault('atOnce') ?? {};
		const isFull = this.works.filter(({ over }) => over === undefined).length >= most;
		if (isFull && as === 429) return this.refuse(exchange, 429, FULL);
		const call = this.creates++;
		const dropped = this.fault('dropped', call);
		if (dropped) return this.fail(exchange, dropped.as);
		const amount = Number(sent.number_of_videos ?? 1);
		const work = this.begin(kind, String(sent.input ?? sent.prompt), amount, n, who.attempt);
		const isRefused = this.fault('fails', call) !== undefined;
		work.failure = isRefused ? 'The content was refused' : isFull ? FULL : undefined;
		this.make(work);
		const lost = this.fault('lost', call);
		if (lost) return this.fail(exchange, lost.as);
		if (kind !== 'speech') return this.stream(work, exchange, this.fault('silent', call));
		this.clock.after(this.fault('messages')?.as === 'early' ? 2500 : 1, () => {
			if (exchange.isOver) return;
			this.note({ what: 'told', id: work.id });
			this.answer(exchange, 200, { task_id: work.id });
		});
	}

	private begin(kind: Work['kind'], text: string, amount = 1, n?: number, attempt?: number): Work {
		const id = `${kind}-${this.works.length}`;
		const marks = Array.from({ length: amount }, (_, index) => `${id}-${index + 1}`);
		const work: Work = {
			...{ id, kind, text, attempt, marks: amount > 1 ? marks : [id], begun: this.clock.now },
			createdAt: new Date().toISOString().replace('Z', '+00:00'),
		};
		this.works.push(work);
		const own = this.works.filter((one) => one.attempt === attempt && one.over === undefined);
		this.note({ what: 'charge', n, id, text, amount, underWay: own.length });
		return work;
	}

	/** Makes it in its time. */
	private make(work: Work): void {
		const { kind, text, id, failure, marks } = work;
		const { least, most } = KINDS[kind];
		const ms = least + (most - least) * this.share('lasts', text) ** 2;
		const steps = [21, 43, 71, 93].slice(Math.floor(4 * this.share('steps', text)));
		for (const step of steps) this.clock.after((ms * step) / 100, () => this.push(work, step));
		this.clock.after(failure ? ms / 3 : ms, () => {
			work.over = this.clock.now;
			this.note(failure ? { what: 'failed', id, isTold: false } : { what: 'made', id, marks });
			if (!failure) this.push(work, 100);
			work.onEnd?.();
		});
	}

	private push({ id, kind, over }: Work, percentage: number): void {
		const as = this.fault('messages')?.as;
		const isLate = over !== undefined && percentage < 100;
		if (kind !== 'speech' || as === 'none' || isLate) return;
		const payload = { task_id: id, process_percentage: percentage };
		const say = () => {
			for (const socket of this.fault('sockets') ? [] : this.sockets) {
				const { readyState, who } = socket;
				if (readyState !== 1 || who.process.isDead) continue;
				this.note({ what: 'heard', id, percentage, process: who.process.name });
				socket.say({ type: 'labs_status_updated', payload });
			}
		};
		this.clock.after(as === 'late' ? 8000 : 1, say);
		if (as === 'twice') this.clock.after(percentage === 100 ? 65_000 : 300, say);
	}

	private stream(work: Work, exchange: Exchange, silent: Fault | undefined): void {
		const { id, kind, failure } = work;
		const tell = (event: string, data: unknown) =>
			exchange.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
		work.stream = exchange;
		this.answerHead(exchange, 200, 'text/event-stream');
		tell(`${kind}_generation_status`, 'starting');
		this.clock.after(1500, () => tell(`${kind}_generation_status`, 'processing'));
		if (silent) this.clock.after(1600, () => exchange.end());
		work.onEnd = () => {
			const isTold = failure
				? tell('error', { code: 400, error: failure })
				: tell(`${kind}_generation_complete`, entriesOf(work));
			if (!isTold) return;
			this.note(failure ? { what: 'failed', id, isTold } : { what: 'told', id });
			exchange.end();
		};
	}

	private read(exchange: Exchange, id: string): void {
		const work = this.works.find((one) => one.id === id && one.kind === 'speech');
		const isNewerThan = (ms = 0, since = 0) => this.clock.now < since + ms;
		if (!work || isNewerThan(this.fault('lag')?.ms, work.begun))
			return this.answer(exchange, 404, { error: 'task_not_found' });
		const { over, failure: error } = work;
		const status = over === undefined ? 'processing' : error ? 'error' : 'completed';
		if (status === 'error') this.note({ what: 'failed', id, isTold: true });
		const isThere = status === 'completed' && !isNewerThan(this.fault('bare')?.ms, over);
		const urls = { audio_url: addressOf(id, 'wav'), subtitle_url: addressOf(id, 'srt') };
		const told = status === 'error' ? { error } : isThere ? urls : {};
		this.answer(exchange, 200, { id, status, input: work.text, ...told });
	}

	private list(exchange: Exchange): void {
		const { searchParams } = exchange.url;
		const page_size = Number(searchParams.get('page_size') ?? 20);
		const page = Number(searchParams.get('page') ?? 1);
		const lacks = this.fault('history')?.as;
		const all = this.works
			.filter(({ kind, over, failure }) => kind !== 'speech' && over !== undefined && !failure)
			.sort((a, b) => b.over! - a.over!)
			.flatMap(entriesOf)
			.map((entry) => Object.fromEntries(Object.entries(entry).filter(([name]) => name !== lacks)));
		const data = all.slice((page - 1) * page_size, page * page_size);
		const total_pages = Math.ceil(all.length / page_size);
		this.answer(exchange, 200, { data, total: all.length, page, page_size, total_pages });
	}

	private serve(exchange: Exchange): void {
		const [, mark, type] = /\/([^/]+)\.(\w+)$/.exec(exchange.url.pathname)!;
		const work = this.works.find(({ marks }) => marks.includes(mark!))!;
		const { as, ms = 0 } = this.fault('files') ?? {};
		const fault = as === 'slow' || this.clock.now < work.over! + ms ? as : undefined;
		if (typeof fault === 'number') return this.fail(exchange, fault);
		const head = Buffer.from(type === 'srt' ? SRT : (KINDS[work.kind].head as string), 'latin1');
		const bytes = Buffer.concat([head, Buffer.alloc(320, `<${mark}>`)]);
		const length = { 'content-length': String(bytes.length) };
		this.answerHead(exchange, 200, 'application/octet-stream', length);
		const stepMs = fault === 'slow' ? 35_000 : 10;
		exchange.write(bytes.subarray(0, 100));
		this.clock.after(stepMs, () => fault !== 'cut' && exchange.write(bytes.subarray(100)));
		this.clock.after(2 * stepMs, () => {
			if (fault === 'cut') return exchange.onReset('ECONNRESET');
			this.note({ what: 'served', file: `${mark}.${type}` });
			exchange.end();
		});
	}

	join(socket: Socket, url: URL): void {
		const isRefused = this.fault('outage') ?? this.fault('sockets')?.as === 'refused';
		this.clock.after(20, () => {
			const isOwner = url.searchParams.get('token') === TOKEN;
			if (isRefused || !isOwner || socket.readyState > 0) return socket.become(3);
			this.sockets.add(socket);
			socket.become(1);
		});
	}

	leave(socket: Socket): void {
		this.sockets.delete(socket);
		socket.become(3);
	}
}
