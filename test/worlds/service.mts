import { randomFrom, seedOf } from '../../simulator/media/random.mts';
import { wavHeader } from '../../simulator/media/wav.mts';
import { clock } from './clock.mts';
import { note } from './ledger.mts';
import { type Exchange, sockets } from './network.mts';
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
/** By which request, for how many files, and why it will fail; without a request it is somebody else's. */
type Order = { n?: number; amount?: number; failure?: string };
type Work = ReturnType<typeof workOf>;

/** What is made from now on, and paid for; its marks are the names of its files, and in their bytes. */
const workOf = (kind: Kind, text: string, id: string, { amount = 1, failure }: Order) => ({
	...{ kind, text, id, failure, begun: clock.now },
	marks: amount > 1 ? Array.from({ length: amount }, (_, at) => `${id}-${at + 1}`) : [id],
	created_at: new Date().toISOString().replace('Z', '+00:00'),
	/** When it had ended, in ms, and where whoever made a video or image is told. */
	...({} as { over?: number; stream?: Exchange }),
});

const addressOf = (mark: string, type: string) => `${FILES}/made/${mark}.${type}?signature=s`;

/** Status 0: the connection is reset; -1: refused. Without a body it goes on. */
type Answer = { status: number; type?: string; body?: object | string; headers?: object };

/** What stands between fails: with a page, a connection that ends, or no answer at all. */
function failing(as: Fault['as']): Answer | undefined {
	if (typeof as === 'number') return { status: as, type: 'text/html', body: PAGE };
	return as === 'hang' ? undefined : { status: as === 'refused' ? -1 : 0 };
}

export type Service = ReturnType<typeof serviceOf>;

/** The service of docs and field notes, without sockets, in virtual time; what happens is noted. */
export function serviceOf({ seed, faults }: World) {
	const works: Work[] = [];
	/** When the account has sent what counts for a limit, in ms. */
	const counted: number[] = [];
	let creates = 0;

	/** From 0 to below 1; the same words, the same number. */
	const share = (...words: unknown[]) => randomFrom(seedOf([seed, ...words].join(' ')))();
	/** Deployments differ, each in its ways. */
	const way = <T,>(what: string, ...ways: T[]): T => ways[Math.floor(share(what) * ways.length)]!;
	/** The fault of a kind that holds now, or that hits a create call. */
	const faultOf = (wanted: Fault['kind'], call?: number) =>
		faults.find(({ kind, at, forMs, create = call }) => {
			return kind === wanted && clock.now >= at && clock.now < at + forMs && create === call;
		});

	/** The fault that hits this create call. */
	function hit(kind: Fault['kind'], call: number): Fault | undefined {
		const fault = faultOf(kind, call);
		if (fault) note({ what: 'fault', kind, as: fault.as, ends: clock.now });
		return fault;
	}

	for (const { kind, at, forMs, as, ms } of faults.filter(({ create }) => create === undefined))
		clock.after(at, () => {
			note({ what: 'fault', kind, as, ms, ends: at + forMs });
			if (kind === 'outage' || as === 'streams')
				for (const { stream } of works) stream?.reset('ECONNRESET');
			if (kind === 'outage' || as === 'sockets' || (kind === 'sockets' && as !== 'deaf'))
				for (const socket of sockets) socket.become(3);
		});

	const entriesOf = ({ marks, text: prompt, kind: type, created_at }: Work) =>
		marks.map((id) => {
			const url = addressOf(id, KINDS[type].type);
			const status = way('word', 'completed', 'MEDIA_GENERATION_STATUS_SUCCESSFUL');
			const files = way<object>('files', { file_url: url }, { file_urls: [url] });
			return { id, prompt, type, status, created_at, ...files };
		});

	function receive(exchange: Exchange): void {
		const { n, method, url, sent, authorization, who } = exchange;
		const isAstray = url.href.includes(encodeURIComponent(TOKEN));
		const token = isAstray ? 'address' : authorization.includes(TOKEN) ? 'header' : undefined;
		const [text, { host, pathname: path }] = [(sent.input ?? sent.prompt) as string, url];
		const by = { process: who.process.name, attempt: who.attempt };
		note({ what: 'request', n, method, host, path, text, token, ...by });
		const onWayMs = 5 + 30 * share('way', n);
		clock.after(onWayMs, () => exchange.isOver() || send(exchange, answerTo(exchange)));
	}

	function send(exchange: Exchange, answer: Answer | undefined): void {
		if (!answer) return;
		const { status, type = 'application/json', body, headers } = answer;
		note({ what: 'answer', n: exchange.n, status });
		if (status <= 0) return exchange.reset(status < 0 ? 'ECONNREFUSED' : 'ECONNRESET');
		exchange.head(status, { 'content-type': type, ...headers });
		if (body !== undefined) exchange.end(typeof body === 'string' ? body : JSON.stringify(body));
	}

	/** Undefined: nothing yet, or nothing at all. */
	function answerTo(exchange: Exchange): Answer | undefined {
		const { method, url, authorization } = exchange;
		const outage = faultOf('outage');
		if (outage) return failing(outage.as);
		if (url.origin === FILES) return fileOf(exchange);
		if (authorization !== `Bearer ${TOKEN}`) return refusal(exchange, 401, 'invalid_token');
		const { most = Infinity, ms = 0, as } = faultOf('rate') ?? {};
		const restMs = (counted.at(-most) ?? -Infinity) + ms - clock.now;
		const headers = as === 'told' ? { 'retry-after': String(Math.ceil(restMs / 1000)) } : {};
		if (restMs > 0) return { ...refusal(exchange, 429, 'Too many requests'), headers };
		counted.push(clock.now);
		const [name = '', id] = url.pathname.split('/').slice(3);
		const kind = ({ task: 'speech', 'create-image': 'image' } as const)[name] ?? 'video';
		if (method === 'POST') return create(exchange, kind);
		if (id) return task(decodeURIComponent(id));
		return { status: 200, body: name === 'histories' ? page(url) : { available_quota: 100 } };
	}

	/** Error bodies repeat the token, as some deployments do. */
	function refusal({ authorization }: Exchange, status: number, why: string): Answer {
		return { status, body: { error: why + (share('echo') < 0.3 ? ` (${authorization})` : '') } };
	}

	function create(exchange: Exchange, kind: Kind): Answer | undefined {
		const { sent, n } = exchange;
		const quota = faultOf('quota');
		if (quota) return refusal(exchange, Number(quota.as), NO_QUOTA);
		const { most = Infinity, as } = faultOf('atOnce') ?? {};
		const isFull = works.filter(({ over }) => over === undefined).length >= most;
		if (isFull && as === 429) return refusal(exchange, 429, FULL);
		const call = creates++;
		const dropped = hit('dropped', call);
		if (dropped) return failing(dropped.as);
		const failure = hit('fails', call) ? 'The content was refused' : isFull ? FULL : undefined;
		const amount = Number(sent.number_of_videos ?? 1);
		const text = String(sent.input ?? sent.prompt);
		const work = make(kind, text, { n, amount, failure });
		const lost = hit('lost', call);
		if (lost) return failing(lost.as);
		if (kind !== 'speech') {
			send(exchange, { status: 200, type: 'text/event-stream' });
			work.stream = exchange;
			tell(work, 'status', 'starting');
			clock.after(1500, () => tell(work, 'status', 'processing'));
			return void (hit('silent', call) && clock.after(1600, () => exchange.end()));
		}
		clock.after(faultOf('messages')?.as === 'early' ? 2500 : 1, () => {
			if (exchange.isOver()) return;
			note({ what: 'told', id: work.id });
			send(exchange, { status: 200, body: { [way('create', 'task_id', 'id')]: work.id } });
		});
	}

	/** Makes it in its time. */
	function make(kind: Kind, text: string, order: Order = {}): Work {
		const work = workOf(kind, text, `${kind}-${works.length}`, order);
		const { id, marks, failure } = work;
		works.push(work);
		note({ what: 'charge', n: order.n, id, text });
		const { least, most } = KINDS[kind];
		const ms = least + (most - least) * share('lasts', text) ** 2;
		const steps = [21, 43, 71, 93].slice(Math.floor(4 * share('steps', text)));
		for (const step of steps) clock.after((ms * step) / 100, () => push(work, step));
		clock.after(failure ? 0.8 * ms : ms, () => {
			work.over = clock.now;
			note(failure ? { what: 'failed', id, isTold: false } : { what: 'made', id, marks });
			if (!failure) push(work, 100);
			const entries = entriesOf(work);
			const made = marks.length > 1 ? entries : way<unknown>('one', entries, entries[0]);
			const error = way<unknown>('error', { code: 400, error: failure }, failure);
			if (!tell(work, failure ? 'error' : 'complete', failure ? error : made)) return;
			note(failure ? { what: 'failed', id, isTold: true } : { what: 'told', id });
			work.stream!.end();
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

	function task(id: string): Answer {
		const work = works.find((one) => one.id === id && one.kind === 'speech');
		const isNewerThan = (ms = 0, since = 0) => clock.now < since + ms;
		if (!work || isNewerThan(faultOf('lag')?.ms, work.begun))
			return { status: 404, body: { error: 'task_not_found' } };
		const { over, failure, text: input } = work;
		const end = failure ? way('failed', 'error', 'FAILED') : way('done', 'completed', 'COMPLETED');
		const status = over === undefined ? 'processing' : end;
		if (over !== undefined && failure) note({ what: 'failed', id, isTold: true });
		const url = addressOf(id, 'wav');
		const sound = way<object>('sound', { audio_url: url }, { result: url }, { audio_url: { url } });
		const files = { ...sound, subtitle_url: addressOf(id, 'srt') };
		const told = failure ? { [way('reason', 'error', 'message')]: failure } : files;
		const isThere = over !== undefined && !isNewerThan(faultOf('bare')?.ms, over);
		return { status: 200, body: { id, status, input, ...(isThere && told) } };
	}

	function page({ searchParams }: URL): object {
		const [size, page] = [Number(searchParams.get('page_size')), Number(searchParams.get('page'))];
		const lacks = faultOf('history')?.as;
		const all = works
			.filter(({ kind, over, failure }) => kind !== 'speech' && over !== undefined && !failure)
			.sort((a, b) => b.over! - a.over!)
			.flatMap(entriesOf)
			.map((entry) => ({ ...entry, ...(lacks && { [lacks]: undefined }) }));
		const data = all.slice((page - 1) * size, page * size);
		const figures = { page, page_size: size, total_pages: Math.ceil(all.length / size) };
		return way<object>('list', data, { data, total: all.length, ...figures });
	}

	function fileOf(exchange: Exchange): Answer | undefined {
		const [, mark, type] = /\/([^/]+)\.(\w+)$/.exec(exchange.url.pathname)!;
		const work = works.find(({ marks }) => marks.includes(mark!))!;
		const { as, ms = 0 } = faultOf('files') ?? {};
		const fault = as === 'slow' || clock.now < work.over! + ms ? as : undefined;
		if (typeof fault === 'number') return failing(fault);
		const head = Buffer.from(type === 'srt' ? SRT : (KINDS[work.kind].head as string), 'latin1');
		const bytes = Buffer.concat([head, Buffer.alloc(320, `<${mark}>`)]);
		const stepMs = fault === 'slow' ? 35_000 : 10;
		clock.after(stepMs, () => fault !== 'cut' && exchange.write(bytes.subarray(100)));
		clock.after(2 * stepMs, () => {
			if (fault === 'cut') return exchange.reset('ECONNRESET');
			note({ what: 'served', file: `${mark}.${type}` });
			exchange.end();
		});
		send(exchange, { status: 200, type: 'application/octet-stream' });
		exchange.write(bytes.subarray(0, 100));
	}

	return {
		receive,
		make,
		/** The task of this text, made by somebody else. */
		taskOf: (text: string) => (works.find((work) => work.text === text) ?? make('speech', text)).id,
		/** Whether a socket may be opened. */
		welcomes: ({ searchParams }: URL) =>
			searchParams.get('token') === TOKEN &&
			!(faultOf('outage') ?? faultOf('sockets')?.as === 'refused'),
	};
}
