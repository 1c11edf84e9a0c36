import type { MediaKind } from '../../nodes/shared/contract.ts';
import { dialectOf } from '../../simulator/dialect.mts';
import { randomFrom, seedOf } from '../../simulator/media/random.mts';
import { readTask } from '../../simulator/speech.mts';
import { toStreamSteps } from '../../simulator/stream.mts';
import type { GeneratedKind } from '../../simulator/types.mts';
import { answerVideoAreaCall } from '../../simulator/video.mts';
import { clock, SECOND } from './clock.mts';
import { itemsOf, type Job, kindOf, KINDS, newJob, type Order, urlOf } from './jobs.mts';
import { type Answer, type Exchange, failedAnswer, sockets } from './network.mts';
import { record } from './trace.mts';
import type { Fault, World } from './world.mts';

export const API = 'https://api.worlds.test';
export const TOKEN = 'token/of+the=worlds';
const TOO_MANY = 'Too many concurrent tasks';
const NO_QUOTA = 'You exceeded your current quota, please check your plan and billing details.';
const REFUSED = 'UNSAFE_GENERATION';
const SRT = '1\n00:00:00,000 --> 00:00:01,000\n';

export type Service = ReturnType<typeof serviceOf>;

/** Returns a service that behaves as the contract and a world's faults say, in virtual time. Records what happens. */
export function serviceOf({ seed, ...world }: World) {
	const faults: Fault[] = world.faults;
	const jobs: Job[] = [];
	/** Functions that are called each time that a job has ended. */
	const endListeners: Array<() => void> = [];
	/** When each request arrived that counts for a rate limit, in ms. */
	const countedAt: number[] = [];
	/** Returns a number from 0 to below 1 that depends only on the seed and the words. */
	const randomFor = (...words: unknown[]) => randomFrom(seedOf([seed, ...words].join(' ')))();
	/** How this deployment differs from others. The simulator's functions make its responses. */
	const dialect = dialectOf((ways, name) => ways[Math.floor(randomFor(name) * ways.length)]);
	/** What these functions need of a simulator, and how many create calls were sent. */
	const simulator = { dialect, options: {}, createCalls: 0, tasks: new Map<string, object>() };

	const recordAnnouncedFailure = ({ id, status }: Job) =>
		status === 'failed' && record({ what: 'failed', id, isAnnounced: true });
	const recordFault = ({ kind, mode }: Fault, ends: number) =>
		record({ what: 'fault', kind, mode, ends });
	/** Returns the fault of a kind that is active now. Records one that hits only this create call. */
	function faultOf(faultKind: Fault['kind'], call?: number): Fault | undefined {
		const fault = faults.find(({ kind, at, forMs, create = call }) => {
			return kind === faultKind && clock.now >= at && clock.now < at + forMs && create === call;
		});
		if (fault?.create !== undefined) recordFault(fault, clock.now);
		return fault;
	}

	for (const fault of faults.filter(({ create }) => create === undefined))
		clock.after(fault.at, () => {
			const { kind, mode } = fault;
			recordFault(fault, fault.at + fault.forMs);
			if (kind === 'outage' || mode === 'streams')
				for (const { stream } of jobs) stream?.reset('ECONNRESET');
			if (kind === 'outage' || mode === 'sockets' || mode === 'refused')
				for (const socket of sockets) socket.setState(3);
		});

	function receive(exchange: Exchange): void {
		const { n, method, path, text, who } = exchange;
		const { host, search: query } = exchange.url;
		const by = { process: who.process.name, attempt: who.attempt };
		const bearsToken = exchange.authorization.includes(TOKEN);
		record({ what: 'request', n, method, host, path, query, text, bearsToken, ...by });
		const arrive = () => exchange.isClosed() || send(exchange, answerTo(exchange));
		clock.after(5 + 30 * randomFor('way', n), arrive);
	}

	/** Sends an answer; without one, the request hangs, or is answered later. */
	function send(exchange: Exchange, answer: Answer | undefined): void {
		if (!answer) return;
		const { status, type = 'application/json', body, headers } = answer;
		record({ what: 'answer', n: exchange.n, status });
		if (status <= 0) return exchange.reset(status < 0 ? 'ECONNREFUSED' : 'ECONNRESET');
		exchange.head(status, { 'content-type': type, ...headers });
		if (body !== undefined) exchange.end(typeof body === 'string' ? body : JSON.stringify(body));
	}

	function answerTo(exchange: Exchange): Answer | undefined {
		const { method, path, authorization } = exchange;
		const outage = faultOf('outage');
		if (outage) return failedAnswer(outage.mode);
		if (path.startsWith('/made/')) return serveFile(exchange);
		if (authorization !== `Bearer ${TOKEN}`) return refusal(exchange, 401, 'invalid_token');
		const { limit = Infinity, ms = 0, mode } = faultOf('rate') ?? {};
		const waitMs = (countedAt.at(-limit) ?? -Infinity) + ms - clock.now;
		const headers =
			mode === 'retryAfter' ? { 'retry-after': String(Math.ceil(waitMs / 1000)) } : {};
		if (waitMs > 0) return { ...refusal(exchange, 429, 'Too many requests'), headers };
		countedAt.push(clock.now);
		const id = path.split('/')[4];
		if (method === 'POST') return create(exchange, kindOf(path));
		if (id) return taskOf(decodeURIComponent(id));
		return answerVideoAreaCall(
			{ ...simulator, history: history() } as never,
			exchange as never,
		) as Answer;
	}

	/** Some deployments repeat the token in error bodies. */
	function refusal({ authorization }: Exchange, status: number, reason: string): Answer {
		const echo = randomFor('echo') < 0.3 ? ` (${authorization})` : '';
		return { status, body: { error: reason + echo } };
	}

	function create(exchange: Exchange, kind: MediaKind): Answer | undefined {
		const { sent, text = '', n } = exchange;
		const quota = faultOf('quota');
		if (quota) return refusal(exchange, Number(quota.mode), NO_QUOTA);
		const { limit = Infinity, mode } = faultOf('concurrency') ?? {};
		const isFull = jobs.filter(({ endedAt }) => endedAt === undefined).length >= limit;
		if (isFull && mode === 429) return refusal(exchange, 429, TOO_MANY);
		const call = simulator.createCalls++;
		const lostAnswer = faultOf('lostAnswer', call);
		if (lostAnswer && !lostAnswer.isPaid) return failedAnswer(lostAnswer.mode);
		const failure = faultOf('failure', call)
			? 'The content was refused'
			: isFull
				? TOO_MANY
				: undefined;
		const failsEarly = mode === 'early';
		const fileCount = Number(sent.number_of_videos ?? 1);
		const partly = fileCount > 1 && !failure ? faultOf('partial')?.mode : undefined;
		const job = startJob(kind, text, {
			...{ n, prompt: sent.prompt, fileCount, failure, failsEarly, partly },
		});
		if (lostAnswer) return failedAnswer(lostAnswer.mode);
		if (kind !== 'speech') {
			send(exchange, { status: 200, type: 'text/event-stream' });
			job.stream = exchange;
			sendEvent(job, { type: 'status', word: 'starting' });
			clock.after(1500, () => {
				// Some deployments send the ids of the files before the files are ready.
				if (randomFor('names') > 0.4 || faultOf('history')?.mode === 'id')
					return sendEvent(job, { type: 'status', word: 'processing' });
				const items = itemsOf(job).map((item) => ({ ...item, status: 'processing' }));
				if (writeEvent(job, 'video_generation_status', items))
					record({ what: 'announced', id: job.id });
			});
			if (faultOf('silentStream', call)) clock.after(1600, () => exchange.end());
			if (faultOf('heartbeats', call)) clock.after(1600, () => sendHeartbeats(job));
			return;
		}
		clock.after(faultOf('messages')?.mode === 'early' ? 2500 : 1, () => {
			if (exchange.isClosed()) return;
			record({ what: 'announced', id: job.id });
			send(exchange, { status: 200, body: { [dialect.createIdField]: job.id } });
		});
	}

	/** Accepts and charges a job, and schedules all that happens to it. */
	function startJob(kind: MediaKind, text: string, order: Order = {}): Job {
		const job = newJob(kind, text, `${kind}-${jobs.length}`, order);
		const { id, prompt, failure, refusedId } = job;
		const fileIds = job.fileIds.filter((fileId) => fileId !== refusedId);
		jobs.push(job);
		record({ what: 'charge', n: order.n, id, text, prompt });
		const { minMs, maxMs } = KINDS[kind];
		// Some jobs of sub-workflows take much longer.
		const factor = /^call/.test(text) && randomFor('slow', text) < 0.3 ? 3 : 1;
		const ms = factor * (minMs + (maxMs - minMs) * randomFor('lasts', text) ** 2);
		const steps = [21, 43, 71, 93].slice(Math.floor(4 * randomFor('steps', text)));
		for (const step of steps) clock.after((ms * step) / 100, () => sendProgress(job, step));
		const error = { code: 400, error: REFUSED, ...(order.partly === 'id' && { id: refusedId }) };
		if (refusedId) clock.after(0.5 * ms, () => writeEvent(job, 'error', error));
		clock.after(failure ? (order.failsEarly ? 0.15 : 0.8) * ms : ms, () => {
			Object.assign(job, { endedAt: clock.now, status: failure ? 'failed' : 'completed' });
			record(
				failure ? { what: 'failed', id, isAnnounced: false } : { what: 'finished', id, fileIds },
			);
			if (!failure) sendProgress(job, 100);
			for (const onEnd of endListeners) onEnd();
			const items = itemsOf({ ...job, fileIds }, validMs()) as never;
			const end = { type: 'complete', items } as const;
			if (!sendEvent(job, failure ? { type: 'error', status: 400, code: failure } : end)) return;
			record(failure ? { what: 'failed', id, isAnnounced: true } : { what: 'announced', id });
			job.stream!.end();
		});
		return job;
	}

	/** Sends the progress of a speech task to all sockets of live processes. */
	function sendProgress({ id, kind, endedAt }: Job, percentage: number): void {
		const mode = faultOf('messages')?.mode;
		if (kind !== 'speech' || mode === 'none' || (endedAt && percentage < 100)) return;
		const payload = { task_id: id, process_percentage: percentage };
		const sendNow = () => {
			for (const socket of faultOf('sockets') ? [] : sockets) {
				const { readyState, who } = socket;
				if (readyState !== 1 || who.process.isDead) continue;
				record({ what: 'message', id, percentage, process: who.process.name });
				socket.receive({ type: 'labs_status_updated', payload });
			}
		};
		clock.after(mode === 'late' ? 8000 : 1, sendNow);
		if (mode === 'twice') clock.after(percentage === 100 ? 65_000 : 300, sendNow);
	}

	/** Sends an event in the dialect. Returns a falsy value if there is no open stream. */
	function sendEvent(
		{ stream, kind }: Job,
		event: Parameters<typeof toStreamSteps>[2],
	): boolean | undefined {
		const steps = toStreamSteps(simulator as never, kind as GeneratedKind, event);
		return stream?.write(steps[0] as string);
	}

	/** Sends an event as it is. Returns a falsy value if there is no open stream. */
	const writeEvent = ({ stream }: Job, event: string, data: object) =>
		stream?.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);

	/** From now on, the stream of the job has only comments. */
	function sendHeartbeats(job: Job, stream = job.stream): void {
		delete job.stream;
		if (stream?.write(': beat\n\n')) clock.after(15 * SECOND, () => sendHeartbeats(job, stream));
	}

	/** For how long a URL is valid, in ms; undefined if it does not expire. */
	const validMs = () => faultOf('expiringUrls')?.ms;

	function taskOf(id: string): Answer {
		const job = jobs.find((one) => one.id === id && one.kind === 'speech');
		const isNewerThan = (ms = 0, since = 0) => clock.now < since + ms;
		if (!job || isNewerThan(faultOf('lag')?.ms, job.startedAt))
			return { status: 404, body: { error: 'task_not_found' } };
		const { endedAt, failure: error, text: input, status } = job;
		recordAnnouncedFailure(job);
		const files = { audioUrl: urlOf(id, 'wav', validMs()), subtitleUrl: urlOf(id, 'srt') };
		const hasUrl = endedAt !== undefined && !isNewerThan(faultOf('noUrl')?.ms, endedAt);
		simulator.tasks.set(id, { id, status, input, ...(hasUrl && (error ? { error } : files)) });
		return readTask(simulator as never, {} as never, id) as Answer;
	}

	function history(): object[] {
		const missingField = faultOf('history')?.mode;
		const showsInProgress = dialect.historyShowsInProgress;
		return jobs
			.filter(
				({ kind, status }) => kind !== 'speech' && (showsInProgress || status === 'completed'),
			)
			.sort((a, b) => (showsInProgress ? b.startedAt - a.startedAt : b.endedAt! - a.endedAt!))
			.flatMap((job) => (recordAnnouncedFailure(job), itemsOf(job, validMs())))
			.filter((item) => showsInProgress || item.status === 'completed')
			.map((item) => ({ ...item, ...(missingField && { [missingField]: undefined }) }));
	}

	/** Sends a file in two parts, so that a download can break in between. */
	function serveFile(exchange: Exchange): Answer | undefined {
		const [, , fileId = '', extension] = exchange.path.split(/[/.]/);
		const { kind, endedAt } = jobs.find(({ fileIds }) => fileIds.includes(fileId))!;
		if (Number(exchange.query.get('s') ?? Infinity) < clock.now)
			return { status: 403, type: 'application/xml', body: '<Error>Request has expired</Error>' };
		const { mode, ms = 0 } = faultOf('files') ?? {};
		const fault = mode === 'slow' || clock.now < endedAt! + ms ? mode : undefined;
		if (typeof fault === 'number') return failedAnswer(fault);
		send(exchange, { status: 200, type: 'application/octet-stream' });
		exchange.write(Buffer.from(extension === 'srt' ? SRT : (KINDS[kind].head as string), 'latin1'));
		const stepMs = fault === 'slow' ? 35_000 : 10;
		clock.after(stepMs, () => fault !== 'cut' && exchange.write(Buffer.alloc(320, `<${fileId}>`)));
		clock.after(2 * stepMs, () => {
			if (fault === 'cut') return exchange.reset('ECONNRESET');
			record({ what: 'served', file: `${fileId}.${extension}` });
			exchange.end();
		});
	}

	return {
		...{ receive, startJob, endListeners },
		/** Returns the id of the task with this text. If there is none, another client creates it. */
		taskIdOf: (text: string) =>
			(jobs.find((job) => job.text === text) ?? startJob('speech', text)).id,
		/** Returns true if a WebSocket with this URL may be opened. */
		acceptsSocket: ({ searchParams }: URL) =>
			searchParams.get('token') === TOKEN &&
			!(faultOf('outage') ?? faultOf('sockets')?.mode === 'refused'),
	};
}
