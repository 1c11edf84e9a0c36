import { randomFrom, seedOf } from '../../simulator/media/random.mts';
import { wavHeader } from '../../simulator/media/wav.mts';
import { clock } from './clock.mts';
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

type Kind = keyof typeof KINDS;

/** How it was ordered, and why it will fail. */
type Ordered = { n?: number; amount?: number; failure?: string; attempt?: number };

/** Something that was ordered, and is paid for. */
interface Work extends Ordered {
	id: string;
	kind: Kind;
	text: string;
	/** The names of its files, which are also in their bytes. */
	marks: string[];
	/** In ms since the world began; `over` is undefined while it is being made. */
	begun: number;
	over?: number;
	createdAt: string;
	/** Who made a video or image is told of its end here. */
	stream?: Exchange;
}

const addressOf = (mark: string, type: string) => `${FILES}/made/${mark}.${type}?signature=s`;

const entriesOf = ({ marks, text: prompt, kind, createdAt: created_at }: Work) =>
	marks.map((id) => {
		const file_url = addressOf(id, KINDS[kind].type);
		return { id, prompt, type: kind, file_url, status: 'completed', created_at };
	});

export type Service = ReturnType<typeof serviceOf>;

/** The service of docs and field notes, without sockets, in virtual time; what happens is noted. */
export function serviceOf(world: World, note: (fact: Fact) => void) {
	const works: Work[] = [];
	const sockets = new Set<Socket>();
	const exchanges: Exchange[] = [];
	/** When the account has sent what counts for a limit, in ms. */
	const counted: number[] = [];
	let creates = 0;

	/** From 0 to below 1; the same words, the same number. */
	const share = (...words: unknown[]) => randomFrom(seedOf([world.seed, ...words].join(' ')))();

	/** The fault of a kind that holds now, or that hits a create call. */
	const faultOf = (wanted: Fault['kind'], call?: number) =>
		world.faults.find(({ kind, at, forMs, create = call }) => {
			return kind === wanted && clock.now >= at && clock.now < at + forMs && create === call;
		});

	for (const { kind, at, forMs, as, ms } of world.faults)
		clock.after(at, () => {
			note({ what: 'fault', kind, as, ms, ends: at + forMs });
			if (kind === 'outage' || as === 'streams')
				for (const { stream } of works) stream?.reset('ECONNRESET');
			if (kind === 'outage' || as === 'sockets' || (kind === 'sockets' && as !== 'deaf'))
				for (const socket of sockets) leave(socket);
		});

	function receive(exchange: Exchange): void {
		const { n, method, url, sent, authorization, who } = exchange;
		exchanges.push(exchange);
		const isAstray = url.href.includes(encodeURIComponent(TOKEN));
		const token = isAstray ? 'address' : authorization.includes(TOKEN) ? 'header' : undefined;
		const [text, { host, pathname: path }] = [sent.input ?? sent.prompt, url];
		const by = { process: who.process.name, attempt: who.attempt };
		note({ what: 'request', n, method, host, path, text: text as string, token, ...by });
		clock.after(5 + 30 * share('way', n), () => exchange.isOver() || handle(exchange));
	}

	function handle(exchange: Exchange): void {
		const { method, url, authorization } = exchange;
		const outage = faultOf('outage');
		if (outage) return fail(exchange, outage.as);
		if (url.origin === FILES) return serve(exchange);
		if (authorization !== `Bearer ${TOKEN}`) return refuse(exchange, 401, 'invalid_token');
		const { most = Infinity, ms = 0, as } = faultOf('rate') ?? {};
		const restMs = (counted.at(-most) ?? -Infinity) + ms - clock.now;
		if (restMs > 0) {
			const headers = as === 'told' ? { 'retry-after': String(Math.ceil(restMs / 1000)) } : {};
			return refuse(exchange, 429, 'Too many requests', headers);
		}
		counted.push(clock.now);
		const [name = '', id] = url.pathname.split('/').slice(3);
		const kind = ({ task: 'speech', 'create-image': 'image' } as const)[name] ?? 'video';
		if (method === 'POST') return create(exchange, kind);
		if (id) return read(exchange, decodeURIComponent(id));
		if (name === 'histories') return list(exchange);
		answer(exchange, 200, { available_quota: 100 });
	}

	function answer(exchange: Exchange, status: number, body: object | string, headers = {}): void {
		const isPage = typeof body === 'string';
		begin(exchange, status, isPage ? 'text/html' : 'application/json', headers);
		exchange.write(isPage ? body : JSON.stringify(body));
		exchange.end();
	}

	function begin(exchange: Exchange, status: number, type: string, headers = {}): void {
		note({ what: 'answer', n: exchange.n, status });
		exchange.head(status, { 'content-type': type, ...headers });
	}

	/** What stands between fails: a status with a page, a connection that ends, or no answer at all. */
	function fail(exchange: Exchange, as: Fault['as']): void {
		if (as === 'hang') return;
		if (typeof as === 'number') return answer(exchange, as, PAGE);
		note({ what: 'answer', n: exchange.n, status: as === 'refused' ? -1 : 0 });
		exchange.reset(as === 'refused' ? 'ECONNREFUSED' : 'ECONNRESET');
	}

	/** Error bodies repeat the token, as some deployments do. */
	function refuse(exchange: Exchange, status: number, why: string, headers?: object): void {
		const echo = share('echo') < 0.3 ? ` (${exchange.authorization})` : '';
		answer(exchange, status, { error: why + echo }, headers);
	}

	function create(exchange: Exchange, kind: Kind): void {
		const { sent, n, who } = exchange;
		const quota = faultOf('quota');
		if (quota) return refuse(exchange, Number(quota.as), NO_QUOTA);
		const { most = Infinity, as } = faultOf('atOnce') ?? {};
		const isFull = works.filter(({ over }) => over === undefined).length >= most;
		if (isFull && as === 429) return refuse(exchange, 429, FULL);
		const call = creates++;
		const dropped = faultOf('dropped', call);
		if (dropped) return fail(exchange, dropped.as);
		const amount = Number(sent.number_of_videos ?? 1);
		const failure = faultOf('fails', call) ? 'The content was refused' : isFull ? FULL : undefined;
		const text = String(sent.input ?? sent.prompt);
		const work = make(kind, text, { n, amount, failure, attempt: who.attempt });
		const lost = faultOf('lost', call);
		if (lost) return fail(exchange, lost.as);
		if (kind !== 'speech') return stream(work, exchange, faultOf('silent', call));
		clock.after(faultOf('messages')?.as === 'early' ? 2500 : 1, () => {
			if (exchange.isOver()) return;
			note({ what: 'told', id: work.id });
			answer(exchange, 200, { task_id: work.id });
		});
	}

	/** Makes it in its time; whoever gives no number of a request is somebody else. */
	function make(kind: Kind, text: string, ordered: Ordered = {}): Work {
		const { n, amount = 1, failure, attempt } = ordered;
		const id = `${kind}-${works.length}`;
		const marks = amount > 1 ? Array.from({ length: amount }, (_, at) => `${id}-${at + 1}`) : [id];
		const createdAt = new Date().toISOString().replace('Z', '+00:00');
		const work: Work = { id, kind, text, failure, attempt, marks, begun: clock.now, createdAt };
		works.push(work);
		const own = works.filter((one) => one.attempt === attempt && one.over === undefined);
		note({ what: 'charge', n, id, text, amount, underWay: own.length });
		const { least, most } = KINDS[kind];
		const ms = least + (most - least) * share('lasts', text) ** 2;
		const steps = [21, 43, 71, 93].slice(Math.floor(4 * share('steps', text)));
		for (const step of steps) clock.after((ms * step) / 100, () => push(work, step));
		clock.after(failure ? ms / 3 : ms, () => {
			work.over = clock.now;
			note(failure ? { what: 'failed', id, isTold: false } : { what: 'made', id, marks });
			if (!failure) push(work, 100);
			tellEnd(work);
		});
		return work;
	}

	function push({ id, kind, over }: Work, percentage: number): void {
		const as = faultOf('messages')?.as;
		const isLate = over !== undefined && percentage < 100;
		if (kind !== 'speech' || as === 'none' || isLate) return;
		const payload = { task_id: id, process_percentage: percentage };
		const say = () => {
			for (const socket of faultOf('sockets') ? [] : sockets) {
				const { readyState, who } = socket;
				if (readyState !== 1 || who.process.isDead) continue;
				note({ what: 'heard', id, percentage, process: who.process.name });
				socket.say({ type: 'labs_status_updated', payload });
			}
		};
		clock.after(as === 'late' ? 8000 : 1, say);
		if (as === 'twice') clock.after(percentage === 100 ? 65_000 : 300, say);
	}

	/** False if nobody listens. */
	function tell({ stream, kind }: Work, event: string, data: unknown): boolean | undefined {
		const name = event === 'error' ? event : `${kind}_generation_${event}`;
		return stream?.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
	}

	function stream(work: Work, exchange: Exchange, silent: Fault | undefined): void {
		work.stream = exchange;
		begin(exchange, 200, 'text/event-stream');
		tell(work, 'status', 'starting');
		clock.after(1500, () => tell(work, 'status', 'processing'));
		if (silent) clock.after(1600, () => exchange.end());
	}

	function tellEnd(work: Work): void {
		const { id, failure: error } = work;
		const data = error ? { code: 400, error } : entriesOf(work);
		if (!tell(work, error ? 'error' : 'complete', data)) return;
		note(error ? { what: 'failed', id, isTold: true } : { what: 'told', id });
		work.stream!.end();
	}

	function read(exchange: Exchange, id: string): void {
		const work = works.find((one) => one.id === id && one.kind === 'speech');
		const isNewerThan = (ms = 0, since = 0) => clock.now < since + ms;
		if (!work || isNewerThan(faultOf('lag')?.ms, work.begun))
			return answer(exchange, 404, { error: 'task_not_found' });
		const { over, failure: error } = work;
		const status = over === undefined ? 'processing' : error ? 'error' : 'completed';
		if (status === 'error') note({ what: 'failed', id, isTold: true });
		const isThere = status === 'completed' && !isNewerThan(faultOf('bare')?.ms, over);
		const urls = { audio_url: addressOf(id, 'wav'), subtitle_url: addressOf(id, 'srt') };
		const told = status === 'error' ? { error } : isThere ? urls : {};
		answer(exchange, 200, { id, status, input: work.text, ...told });
	}

	function list(exchange: Exchange): void {
		const asked = exchange.url.searchParams;
		const [page_size, page] = [
			Number(asked.get('page_size') ?? 20),
			Number(asked.get('page') ?? 1),
		];
		const lacks = faultOf('history')?.as;
		const all = works
			.filter(({ kind, over, failure }) => kind !== 'speech' && over !== undefined && !failure)
			.sort((a, b) => b.over! - a.over!)
			.flatMap(entriesOf)
			.map((entry) => (lacks ? { ...entry, [lacks]: undefined } : entry));
		const data = all.slice((page - 1) * page_size, page * page_size);
		const total_pages = Math.ceil(all.length / page_size);
		answer(exchange, 200, { data, total: all.length, page, page_size, total_pages });
	}

	function serve(exchange: Exchange): void {
		const [, mark, type] = /\/([^/]+)\.(\w+)$/.exec(exchange.url.pathname)!;
		const work = works.find(({ marks }) => marks.includes(mark!))!;
		const { as, ms = 0 } = faultOf('files') ?? {};
		const fault = as === 'slow' || clock.now < work.over! + ms ? as : undefined;
		if (typeof fault === 'number') return fail(exchange, fault);
		const head = Buffer.from(type === 'srt' ? SRT : (KINDS[work.kind].head as string), 'latin1');
		const bytes = Buffer.concat([head, Buffer.alloc(320, `<${mark}>`)]);
		begin(exchange, 200, 'application/octet-stream', { 'content-length': `${bytes.length}` });
		const stepMs = fault === 'slow' ? 35_000 : 10;
		exchange.write(bytes.subarray(0, 100));
		clock.after(stepMs, () => fault !== 'cut' && exchange.write(bytes.subarray(100)));
		clock.after(2 * stepMs, () => {
			if (fault === 'cut') return exchange.reset('ECONNRESET');
			note({ what: 'served', file: `${mark}.${type}` });
			exchange.end();
		});
	}

	function leave(socket: Socket): void {
		sockets.delete(socket);
		socket.become(3);
	}

	return {
		receive,
		leave,
		/** Somebody else's order. */
		order: make,
		/** The task of this text, made by somebody else. */
		taskOf: (text: string) => (works.find((work) => work.text === text) ?? make('speech', text)).id,
		join(socket: Socket, url: URL): void {
			const isRefused = faultOf('outage') ?? faultOf('sockets')?.as === 'refused';
			clock.after(20, () => {
				const isOwner = url.searchParams.get('token') === TOKEN;
				if (isRefused || !isOwner || socket.readyState > 0) return socket.become(3);
				sockets.add(socket);
				socket.become(1);
			});
		},
		/** Requests and sockets that a live process has open. */
		open: () => ({
			requests: exchanges.filter(({ isOver }) => !isOver()).length,
			sockets: [...sockets].filter(({ who }) => !who.process.isDead).length,
		}),
	};
}
