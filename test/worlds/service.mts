import { dialectOf } from '../../simulator/dialect.mts';
import { randomFrom, seedOf } from '../../simulator/media/random.mts';
import { readTask } from '../../simulator/speech.mts';
import { toStreamSteps } from '../../simulator/stream.mts';
import type { GeneratedKind } from '../../simulator/types.mts';
import { answerVideoAreaCall } from '../../simulator/video.mts';
import { clock, SECOND } from './clock.mts';
import { note } from './ledger.mts';
import { type Answer, type Exchange, failing, sockets } from './network.mts';
import {
	addressOf,
	itemsOf,
	type Kind,
	kindOf,
	KINDS,
	type Order,
	type Work,
	workOf,
} from './works.mts';
import type { Fault, World } from './world.mts';

export const API = 'https://api.worlds.test';
export const TOKEN = 'token/of+the=worlds';
const FULL = 'Too many concurrent tasks';
const NO_QUOTA = 'You exceeded your current quota, please check your plan and billing details.';
const REFUSED = 'UNSAFE_GENERATION';
const SRT = '1\n00:00:00,000 --> 00:00:01,000\n';

export type Service = ReturnType<typeof serviceOf>;

/** The service of docs and field notes, without sockets, in virtual time; what happens is noted. */
export function serviceOf({ seed, ...world }: World) {
	const faults: Fault[] = world.faults;
	const works: Work[] = [];
	/** Called when a work has ended. */
	const endings: Array<() => void> = [];
	/** When the account has sent what counts for a limit, in ms. */
	const counted: number[] = [];
	/** From 0 to below 1; the same words, the same number. */
	const share = (...words: unknown[]) => randomFrom(seedOf([seed, ...words].join(' ')))();
	/** Deployments differ: what each answers is said as the simulator says it, in one of its dialects. */
	const dialect = dialectOf((ways, name) => ways[Math.floor(share(name) * ways.length)]);
	const said = { dialect, options: {}, creates: 0, tasks: new Map<string, object>() };

	const sayIfFailed = ({ id, status }: Work) =>
		status === 'failed' && note({ what: 'failed', id, isTold: true });
	const say = ({ kind, as }: Fault, ends: number) => note({ what: 'fault', kind, as, ends });
	/** The fault of a kind that holds now, or that hits a create call, which is noted. */
	function faultOf(wanted: Fault['kind'], call?: number): Fault | undefined {
		const fault = faults.find(({ kind, at, forMs, create = call }) => {
			return kind === wanted && clock.now >= at && clock.now < at + forMs && create === call;
		});
		if (fault?.create !== undefined) say(fault, clock.now);
		return fault;
	}

	for (const fault of faults.filter(({ create }) => create === undefined))
		clock.after(fault.at, () => {
			const { kind, as } = fault;
			say(fault, fault.at + fault.forMs);
			if (kind === 'outage' || as === 'streams')
				for (const { stream } of works) stream?.reset('ECONNRESET');
			if (kind === 'outage' || as === 'sockets' || as === 'refused')
				for (const socket of sockets) socket.become(3);
		});

	function receive(exchange: Exchange): void {
		const { n, method, path, text, who } = exchange;
		const { host, search: query } = exchange.url;
		const by = { process: who.process.name, attempt: who.attempt };
		const bearsToken = exchange.authorization.includes(TOKEN);
		note({ what: 'request', n, method, host, path, query, text, bearsToken, ...by });
		const arrive = () => exchange.isOver() || send(exchange, answerTo(exchange));
		clock.after(5 + 30 * share('way', n), arrive);
	}

	function send(exchange: Exchange, answer: Answer | undefined): void {
		if (!answer) return;
		const { status, type = 'application/json', body, headers } = answer;
		note({ what: 'answer', n: exchange.n, status });
		if (status <= 0) return exchange.reset(status < 0 ? 'ECONNREFUSED' : 'ECONNRESET');
		exchange.head(status, { 'content-type': type, ...headers });
		if (body !== undefined) exchange.end(typeof body === 'string' ? body : JSON.stringify(body));
	}

	function answerTo(exchange: Exchange): Answer | undefined {
		const { method, path, authorization } = exchange;
		const outage = faultOf('outage');
		if (outage) return failing(outage.as);
		if (path.startsWith('/made/')) return fileOf(exchange);
		if (authorization !== `Bearer ${TOKEN}`) return refusal(exchange, 401, 'invalid_token');
		const { most = Infinity, ms = 0, as } = faultOf('rate') ?? {};
		const restMs = (counted.at(-most) ?? -Infinity) + ms - clock.now;
		const headers = as === 'told' ? { 'retry-after': String(Math.ceil(restMs / 1000)) } : {};
		if (restMs > 0) return { ...refusal(exchange, 429, 'Too many requests'), headers };
		counted.push(clock.now);
		const id = path.split('/')[4];
		if (method === 'POST') return create(exchange, kindOf(path));
		if (id) return task(decodeURIComponent(id));
		return answerVideoAreaCall(
			{ ...said, history: history() } as never,
			exchange as never,
		) as Answer;
	}

	/** Error bodies repeat the token, as some deployments do. */
	function refusal({ authorization }: Exchange, status: number, why: string): Answer {
		return { status, body: { error: why + (share('echo') < 0.3 ? ` (${authorization})` : '') } };
	}

	function create(exchange: Exchange, kind: Kind): Answer | undefined {
		const { sent, text = '', n } = exchange;
		const quota = faultOf('quota');
		if (quota) return refusal(exchange, Number(quota.as), NO_QUOTA);
		const { most = Infinity, as } = faultOf('atOnce') ?? {};
		const isFull = works.filter(({ over }) => over === undefined).length >= most;
		if (isFull && as === 429) return refusal(exchange, 429, FULL);
		const call = said.creates++;
		const lost = faultOf('lost', call);
		if (lost && !lost.isPaid) return failing(lost.as);
		const failure = faultOf('fails', call) ? 'The content was refused' : isFull ? FULL : undefined;
		const isEarly = as === 'early';
		const amount = Number(sent.number_of_videos ?? 1);
		const partly = amount > 1 && !failure ? faultOf('partly') : undefined;
		const order = { n, prompt: sent.prompt, amount, failure, isEarly, partly: partly?.as };
		const work = make(kind, text, order);
		if (lost) return failing(lost.as);
		if (kind !== 'speech') {
			send(exchange, { status: 200, type: 'text/event-stream' });
			work.stream = exchange;
			tell(work, { type: 'status', word: 'starting' });
			clock.after(1500, () => {
				// Some name the files in the making, if they name any.
				if (share('names') > 0.4 || faultOf('history')?.as === 'id')
					return tell(work, { type: 'status', word: 'processing' });
				const making = itemsOf(work).map((item) => ({ ...item, status: 'processing' }));
				if (write(work, 'video_generation_status', making)) note({ what: 'told', id: work.id });
			});
			if (faultOf('silent', call)) clock.after(1600, () => exchange.end());
			if (faultOf('beats', call)) clock.after(1600, () => beat(work));
			return;
		}
		clock.after(faultOf('messages')?.as === 'early' ? 2500 : 1, () => {
			if (exchange.isOver()) return;
			note({ what: 'told', id: work.id });
			send(exchange, { status: 200, body: { [dialect.createIdField]: work.id } });
		});
	}

	/** Makes it in its time. */
	function make(kind: Kind, text: string, order: Order = {}): Work {
		const work = workOf(kind, text, `${kind}-${works.length}`, order);
		const { id, prompt, failure, refused } = work;
		const marks = work.marks.filter((mark) => mark !== refused);
		works.push(work);
		note({ what: 'charge', n: order.n, id, text, prompt });
		const { least, most } = KINDS[kind];
		// What a sub-workflow asks for may take much longer.
		const times = /^call/.test(text) && share('slow', text) < 0.3 ? 3 : 1;
		const ms = times * (least + (most - least) * share('lasts', text) ** 2);
		const steps = [21, 43, 71, 93].slice(Math.floor(4 * share('steps', text)));
		for (const step of steps) clock.after((ms * step) / 100, () => push(work, step));
		const refusal = { code: 400, error: REFUSED, ...(order.partly === 'id' && { id: refused }) };
		if (refused) clock.after(0.5 * ms, () => write(work, 'error', refusal));
		clock.after(failure ? (order.isEarly ? 0.15 : 0.8) * ms : ms, () => {
			Object.assign(work, { over: clock.now, status: failure ? 'failed' : 'completed' });
			note(failure ? { what: 'failed', id, isTold: false } : { what: 'made', id, marks });
			if (!failure) push(work, 100);
			for (const act of endings) act();
			const items = itemsOf({ ...work, marks }, signedMs()) as never;
			const end = { type: 'complete', items } as const;
			if (!tell(work, failure ? { type: 'error', status: 400, code: failure } : end)) return;
			note(failure ? { what: 'failed', id, isTold: true } : { what: 'told', id });
			work.stream!.end();
		});
		return work;
	}

	function push({ id, kind, over }: Work, percentage: number): void {
		const as = faultOf('messages')?.as;
		if (kind !== 'speech' || as === 'none' || (over && percentage < 100)) return;
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
	function tell(
		{ stream, kind }: Work,
		event: Parameters<typeof toStreamSteps>[2],
	): boolean | undefined {
		return stream?.write(toStreamSteps(said as never, kind as GeneratedKind, event)[0] as string);
	}

	const write = ({ stream }: Work, event: string, data: object) =>
		stream?.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);

	/** From now on its stream has nothing but comments to say. */
	function beat(work: Work, stream = work.stream): void {
		delete work.stream;
		if (stream?.write(': beat\n\n')) clock.after(15 * SECOND, () => beat(work, stream));
	}

	/** For how long an address is signed, in ms. */
	const signedMs = () => faultOf('signed')?.ms;

	function task(id: string): Answer {
		const work = works.find((one) => one.id === id && one.kind === 'speech');
		const isNewerThan = (ms = 0, since = 0) => clock.now < since + ms;
		if (!work || isNewerThan(faultOf('lag')?.ms, work.begun))
			return { status: 404, body: { error: 'task_not_found' } };
		const { over, failure: error, text: input, status } = work;
		sayIfFailed(work);
		const files = { audioUrl: addressOf(id, 'wav', signedMs()), subtitleUrl: addressOf(id, 'srt') };
		const isThere = over !== undefined && !isNewerThan(faultOf('bare')?.ms, over);
		said.tasks.set(id, { id, status, input, ...(isThere && (error ? { error } : files)) });
		return readTask(said as never, {} as never, id) as Answer;
	}

	function history(): object[] {
		const lacks = faultOf('history')?.as;
		const isEarly = dialect.historyShowsInProgress;
		return works
			.filter(({ kind, status }) => kind !== 'speech' && (isEarly || status === 'completed'))
			.sort((a, b) => (isEarly ? b.begun - a.begun : b.over! - a.over!))
			.flatMap((work) => (sayIfFailed(work), itemsOf(work, signedMs())))
			.filter((item) => isEarly || item.status === 'completed')
			.map((item) => ({ ...item, ...(lacks && { [lacks]: undefined }) }));
	}

	function fileOf(exchange: Exchange): Answer | undefined {
		const [, , mark = '', type] = exchange.path.split(/[/.]/);
		const { kind, over } = works.find(({ marks }) => marks.includes(mark))!;
		if (Number(exchange.query.get('s') ?? Infinity) < clock.now)
			return { status: 403, type: 'application/xml', body: '<Error>Request has expired</Error>' };
		const { as, ms = 0 } = faultOf('files') ?? {};
		const fault = as === 'slow' || clock.now < over! + ms ? as : undefined;
		if (typeof fault === 'number') return failing(fault);
		send(exchange, { status: 200, type: 'application/octet-stream' });
		exchange.write(Buffer.from(type === 'srt' ? SRT : (KINDS[kind].head as string), 'latin1'));
		const stepMs = fault === 'slow' ? 35_000 : 10;
		clock.after(stepMs, () => fault !== 'cut' && exchange.write(Buffer.alloc(320, `<${mark}>`)));
		clock.after(2 * stepMs, () => {
			if (fault === 'cut') return exchange.reset('ECONNRESET');
			note({ what: 'served', file: `${mark}.${type}` });
			exchange.end();
		});
	}

	return {
		...{ receive, make, endings },
		/** The task of this text, made by somebody else. */
		taskOf: (text: string) => (works.find((work) => work.text === text) ?? make('speech', text)).id,
		/** Whether a socket may be opened. */
		welcomes: ({ searchParams }: URL) =>
			searchParams.get('token') === TOKEN &&
			!(faultOf('outage') ?? faultOf('sockets')?.as === 'refused'),
	};
}
