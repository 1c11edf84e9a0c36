import { seedOf, randomFrom } from '../../simulator/media/random.mts';
import { wavHeader } from '../../simulator/media/wav.mts';
import type { Clock, Process } from './clock.mts';
import type { Fact } from './ledger.mts';
import type { Exchange, Socket } from './network.mts';
import type { Fault, FaultKind } from './world.mts';

export const API = 'https://api.worlds.test';
const FILES = 'https://files.worlds.test';
export const TOKEN = 'token/of+the=worlds';
const PAGE = '<html><body><h1>502 Bad Gateway</h1></body></html>';
const FULL = 'Too many concurrent tasks';
const NO_QUOTA: Record<number, string> = {
	402: 'insufficient_credits',
	429: 'You exceeded your current quota, please check your plan and billing details.',
};

type Kind = 'speech' | 'video' | 'image';
/** What is made at the last part of a path. */
const MADE_AT: Record<string, Kind> = {
	task: 'speech',
	'text-to-video': 'video',
	'ingredients-to-video': 'video',
	'frames-to-video': 'video',
	'create-image': 'image',
};
/** How long it takes to make one, at least and at most, in ms. */
const LASTS = { speech: [2000, 60_000], video: [30_000, 150_000], image: [4000, 40_000] } as const;
/** How a file begins, by its extension, and the extension of each kind. */
const HEADS: Record<string, Buffer> = {
	wav: wavHeader(320),
	mp4: Buffer.from('\0\0\0\x18ftypisom\0\0\0\0isommp42', 'latin1'),
	png: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
	srt: Buffer.from('1\n00:00:00,000 --> 00:00:01,000\n'),
};
const TYPES = { speech: 'wav', video: 'mp4', image: 'png' };

/** Something that was ordered, and is paid for. */
interface Work {
	id: string;
	kind: Kind;
	text: string;
	/** The names of its files, which are also in their bytes. */
	marks: string[];
	begun: number;
	createdAt: string;
	/** Why it will fail. */
	failure?: string;
	/** Undefined while it is being made; ms since the world began. */
	over?: number;
	attempt?: number;
	/** Who made a video or image listens to its stream, and is told of its end. */
	stream?: Exchange;
	onEnd?: () => void;
}

const addressOf = (mark: string, type: string) => `${FILES}/made/${mark}.${type}?signature=s`;

const entriesOf = ({ marks, text: prompt, kind: type, createdAt: created_at }: Work) =>
	marks.map((id) => {
		return {
			id,
			prompt,
			type,
			file_url: addressOf(id, TYPES[type]),
			status: 'completed',
			created_at,
		};
	});

/** The service of docs and field notes, without sockets, in virtual time; what happens is noted. */
export class Service {
	readonly works: Work[] = [];
	private readonly sockets = new Set<Socket>();
	private readonly exchanges = new Set<Exchange>();
	private readonly asked: number[] = [];
	private creates = 0;

	private readonly seed: number;
	private readonly faults: Fault[];
	private readonly clock: Clock;
	private readonly note: (fact: Fact) => void;

	constructor(seed: number, faults: Fault[], clock: Clock, note: (fact: Fact) => void) {
		this.seed = seed;
		this.faults = faults;
		this.clock = clock;
		this.note = note;
		for (const { kind, at, forMs, as, ms } of faults) {
			clock.after(at, () => {
				note({ what: 'fault', kind, as, ms, ends: at + forMs });
				const isCut = kind === 'outage' || (kind === 'cut' && as === 'streams');
				if (isCut) for (const { stream } of this.works) stream?.reset();
				if (kind === 'sockets' || kind === 'outage' || (kind === 'cut' && !isCut))
					if (as !== 'deaf') for (const socket of this.sockets) this.leave(socket);
			});
		}
	}

	/** Requests and sockets that a live process has open. */
	open(): { requests: number; sockets: number } {
		const isAlive = ({ who }: Pick<Exchange, 'who'>) => !who!.process.isDead;
		const requests = [...this.exchanges].filter((one) => !one.isOver && isAlive(one)).length;
		return { requests, sockets: [...this.sockets].filter(isAlive).length };
	}

	/** A process has died, and its connections with it. */
	forget(process: Process): void {
		for (const socket of this.sockets)
			if (socket.who!.process === process) this.sockets.delete(socket);
		for (const exchange of this.exchanges)
			if (exchange.who!.process === process) exchange.isOver = true;
	}

	/** Somebody else's order; returns its id. */
	order(kind: Kind, text: string): string {
		const work = this.begin(kind, text);
		this.make(work);
		return work.id;
	}

	/** The task of this text, made by somebody else. */
	taskOf(text: string): string {
		return this.works.find((work) => work.text === text)?.id ?? this.order('speech', text);
	}

	/** The fault of a kind that holds now, or that hits a create call. */
	private fault(wanted: FaultKind, call?: number): Fault | undefined {
		const { now } = this.clock;
		return this.faults.find(({ kind, at, forMs, create = call }) => {
			return kind === wanted && now >= at && now < at + forMs && create === call;
		});
	}

	/** From 0 to below 1; the same words, the same number. */
	private share(...words: unknown[]): number {
		return randomFrom(seedOf([this.seed, ...words].join(' ')))();
	}

	receive(exchange: Exchange): void {
		const { n, method, url, sent, authorization, who } = exchange;
		this.exchanges.add(exchange);
		const isAstray = url.href.includes(encodeURIComponent(TOKEN));
		this.note({
			...{ what: 'request', n, method, host: url.host, path: url.pathname },
			text: (sent.input ?? sent.prompt) as string | undefined,
			token: isAstray ? 'address' : authorization.includes(TOKEN) ? 'header' : undefined,
			...{ process: who!.process.name, attempt: who!.attempt },
		});
		this.clock.after(5 + 30 * this.share('way', n), () => {
			if (!exchange.isOver) this.handle(exchange);
		});
	}

	private handle(exchange: Exchange): void {
		const outage = this.fault('outage');
		if (outage) return this.fail(exchange, outage.as);
		if (exchange.url.origin === FILES) return this.serve(exchange);
		if (exchange.authorization !== `Bearer ${TOKEN}`)
			return this.refuse(exchange, 401, 'invalid_token');
		const restMs = this.restMs();
		if (restMs > 0) {
			const isTold = this.fault('rate')!.as === 'told';
			const headers = isTold ? { 'retry-after': String(Math.ceil(restMs / 1000)) } : {};
			return this.refuse(exchange, 429, 'Too many requests', headers);
		}
		const [, name = '', id] = /^\/v1\/\w+\/([\w-]+)(?:\/(.+))?$/.exec(exchange.url.pathname) ?? [];
		if (exchange.method === 'POST') return this.create(exchange, MADE_AT[name]!);
		if (id) return this.read(exchange, decodeURIComponent(id));
		if (name === 'histories') return this.list(exchange);
		if (name === 'me') return this.answer(exchange, 200, { available_quota: 100 });
		this.refuse(exchange, 404, 'not_found');
	}

	/** How long the account has to rest, in ms; if it has not, this request counts. */
	private restMs(): number {
		const { most = Infinity, ms = 0 } = this.fault('rate') ?? {};
		const { now } = this.clock;
		const first = this.asked.at(-most);
		if (first !== undefined && first > now - ms) return first + ms - now;
		this.asked.push(now);
		return 0;
	}

	private answer(
		exchange: Exchange,
		status: number,
		body: object | string,
		more: object = {},
	): void {
		const text = typeof body === 'string' ? body : JSON.stringify(body);
		const type = typeof body === 'string' ? 'text/html' : 'application/json';
		this.note({ what: 'answer', n: exchange.n, status });
		const headers = { 'content-type': type, 'content-length': String(text.length), ...more };
		exchange.begin(status, headers);
		exchange.write(text);
		exchange.end();
	}

	/** What stands between fails: a status with a page, a connection that ends, or no answer at all. */
	private fail(exchange: Exchange, as: Fault['as']): void {
		if (as === 'hang') return;
		if (typeof as === 'number')
			return this.answer(exchange, as, as === 500 ? { error: 'internal' } : PAGE);
		this.note({ what: 'answer', n: exchange.n, status: as === 'refused' ? -1 : 0 });
		exchange.reset(as === 'refused' ? 'ECONNREFUSED' : 'ECONNRESET');
	}

	/** Error bodies repeat the token, as some deployments do. */
	private refuse(exchange: Exchange, status: number, why: string, headers?: object): void {
		const echo = this.share('echo') < 0.3 ? ` (${exchange.authorization})` : '';
		this.answer(exchange, status, { error: why + echo }, headers);
	}

	private create(exchange: Exchange, kind: Kind): void {
		const { sent, n, who } = exchange;
		const status = this.fault('quota')?.as as number | undefined;
		if (status) return this.refuse(exchange, status, NO_QUOTA[status]!);
		const { most = Infinity, as } = this.fault('atOnce') ?? {};
		const isFull = this.works.filter(({ over }) => over === undefined).length >= most;
		if (isFull && as === 429) return this.refuse(exchange, 429, FULL);
		const call = this.creates++;
		const dropped = this.fault('dropped', call);
		if (dropped) return this.fail(exchange, dropped.as);
		const amount = Number(sent.number_of_videos ?? 1);
		const work = this.begin(kind, String(sent.input ?? sent.prompt), amount, n, who!.attempt);
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

	private begin(kind: Kind, text: string, amount = 1, n?: number, attempt?: number): Work {
		const id = `${kind}-${this.works.length}`;
		const files = Array.from({ length: amount }, (_, index) => `${id}-${index + 1}`);
		const marks = amount === 1 ? [id] : files;
		const createdAt = new Date().toISOString().replace('Z', '+00:00');
		const work: Work = { id, kind, text, marks, begun: this.clock.now, createdAt, attempt };
		this.works.push(work);
		const own = this.works.filter((one) => one.attempt === attempt && one.over === undefined);
		this.note({ what: 'charge', n, id, text, amount, underWay: own.length });
		return work;
	}

	/** Makes it in its time. */
	private make(work: Work): void {
		const { kind, text, id, failure, marks } = work;
		const [least, most] = LASTS[kind];
		const ms = least + (most - least) * this.share('lasts', text) ** 2;
		const steps = [21, 43, 71, 93].slice(Math.floor(4 * this.share('steps', text)));
		for (const step of kind === 'speech' ? steps : [])
			this.clock.after((ms * step) / 100, () => this.push(work, step));
		this.clock.after(failure ? ms / 3 : ms, () => {
			work.over = this.clock.now;
			this.note(failure ? { what: 'failed', id, isTold: false } : { what: 'made', id, marks });
			if (kind === 'speech' && !failure) this.push(work, 100);
			work.onEnd?.();
		});
	}

	private push({ id, over }: Work, percentage: number): void {
		const as = this.fault('messages')?.as;
		if (as === 'none' || (over !== undefined && percentage < 100)) return;
		const payload = { task_id: id, process_percentage: percentage };
		const say = () => {
			for (const socket of this.fault('sockets') ? [] : this.sockets) {
				if (socket.readyState !== 1 || socket.who!.process.isDead) continue;
				this.note({ what: 'heard', id, percentage, process: socket.who!.process.name });
				socket.say({ type: 'labs_status_updated', payload });
			}
		};
		this.clock.after(as === 'late' ? 8000 : 1, say);
		if (as === 'twice') this.clock.after(percentage === 100 ? 65_000 : 300, say);
	}

	private stream(work: Work, exchange: Exchange, silent: Fault | undefined): void {
		const { id, kind, failure } = work;
		const tell = (name: string, data: unknown) =>
			exchange.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
		work.stream = exchange;
		this.note({ what: 'answer', n: exchange.n, status: 200 });
		exchange.begin(200, { 'content-type': 'text/event-stream' });
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
		const { over, failure: error, text: input } = work;
		if (over === undefined) return this.answer(exchange, 200, { id, status: 'processing', input });
		if (error) {
			this.note({ what: 'failed', id, isTold: true });
			return this.answer(exchange, 200, { id, status: 'error', error, input });
		}
		const urls = { audio_url: addressOf(id, 'wav'), subtitle_url: addressOf(id, 'srt') };
		const isBare = isNewerThan(this.fault('bare')?.ms, over);
		this.answer(exchange, 200, { id, status: 'completed', input, ...(isBare ? {} : urls) });
	}

	private list(exchange: Exchange): void {
		const { searchParams } = exchange.url;
		const size = Number(searchParams.get('page_size') ?? 20);
		const page = Number(searchParams.get('page') ?? 1);
		const lacks = this.fault('history')?.as;
		const all = this.works
			.filter(({ kind, over, failure }) => kind !== 'speech' && over !== undefined && !failure)
			.sort((a, b) => b.over! - a.over!)
			.flatMap(entriesOf)
			.map((entry) => Object.fromEntries(Object.entries(entry).filter(([name]) => name !== lacks)));
		const data = all.slice((page - 1) * size, page * size);
		const total_pages = Math.ceil(all.length / size);
		this.answer(exchange, 200, { data, total: all.length, page, page_size: size, total_pages });
	}

	private serve(exchange: Exchange): void {
		const [, mark = '', type = ''] = /\/([^/]+)\.(\w+)$/.exec(exchange.url.pathname) ?? [];
		const work = this.works.find(({ marks }) => marks.includes(mark));
		const { as, ms = 0 } = this.fault('files') ?? {};
		const fault = this.clock.now < (work?.over ?? 0) + ms ? as : undefined;
		if (typeof fault === 'number') return this.fail(exchange, fault);
		const bytes = Buffer.concat([HEADS[type]!, Buffer.alloc(320, `<${mark}>`)]);
		this.note({ what: 'answer', n: exchange.n, status: 200 });
		exchange.begin(200, {
			'content-type': 'application/octet-stream',
			'content-length': String(bytes.length),
		});
		exchange.write(fault === 'cut' ? bytes.subarray(0, 100) : bytes);
		this.clock.after(20, () => {
			if (fault === 'cut') return exchange.reset();
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
