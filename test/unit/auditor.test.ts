import { audit } from '../worlds/auditor.mts';
import type { Line } from '../worlds/trace.mts';
import { TOKEN } from '../worlds/service.mts';

/* A trace without violations, and what the auditor finds once the trace is damaged. */

const text = 'One text.';
const [execution, process, trigger, id] = ['execution 0', 'n8n 0', 'trigger 0', 'speech-0'];
const plan = {
	...{
		operation: 'speech:speak' as const,
		items: [text],
		onError: 'stopWorkflow' as const,
		tries: 1,
	},
	fileCount: 1,
	options: { timeout: 900, concurrency: 1, subtitles: true, maxPaidPerExecution: 2 },
};
const settings = { events: ['completed', 'failed'], taskIds: [] as string[], download: true };
const path = '/v1/labs/task';
const by = { host: 'api.worlds.test', process, bearsToken: true, query: '', attempt: 1 };
const json = { task_id: id, audio_url: `https://files.worlds.test/made/${id}.wav` };
const item = { text, fileIds: [id], fields: ['data', 'subtitles'], json };
const eventItem = {
	text: '',
	fileIds: [id],
	fields: ['data'],
	json: { event: 'completed', task_id: id },
};

const GOOD: Line[] = [
	{ at: 0, what: 'published', trigger, process, settings },
	{ at: 0, what: 'saved', trigger, text: '{}' },
	{ at: 1000, what: 'launched', execution, process, plan },
	{ at: 1000, what: 'attempt', attempt: 1, execution, texts: [text] },
	{ at: 1000, what: 'request', n: 0, method: 'POST', path, text, ...by },
	{ at: 1000, what: 'charge', n: 0, id, text },
	{ at: 1000, what: 'announced', id },
	{ at: 1000, what: 'answer', n: 0, status: 200 },
	{ at: 9000, what: 'finished', id, fileIds: [id] },
	{ at: 9000, what: 'message', id, percentage: 100, process },
	{ at: 9000, what: 'request', n: 1, method: 'GET', path: `${path}/${id}`, ...by },
	{ at: 9000, what: 'served', file: `${id}.wav` },
	{ at: 9000, what: 'emitted', trigger, process, key: 'key', event: 'completed' },
	{ at: 9000, what: 'started', trigger, key: 'key', isNew: true, output: eventItem },
	{ at: 9500, what: 'ended', execution, status: 'success', outputs: [item] },
	{ at: 2_000_000, what: 'unpublished', trigger },
	{ at: 2_000_000, what: 'leftOpen', timers: 0, requests: 0, sockets: 0 },
];

type What = Line['what'];
/** The first line of a kind after so many seconds, once more, and a little different. */
const again = (what: What, seconds: number, more: object = {}): Line =>
	({ ...GOOD.find((line) => line.what === what)!, at: seconds * 1000, ...more }) as Line;
const add = (...lines: Line[]) => [...GOOD, ...lines].sort((a, b) => a.at - b.at);
const change = (what: What, more: object) =>
	GOOD.map((line) => (line.what === what ? ({ ...line, ...more } as Line) : line));
const lacking = (what: What) => GOOD.filter((line) => line.what !== what);
const outputs = (...all: object[]) =>
	change('ended', { outputs: all.map((one) => ({ ...item, ...one })) });
const event = (more: object) => ({ output: { ...eventItem, ...more } });
const read = { method: 'GET', path: `${path}/${id}` };
const retry = `${execution} again`;
const failing = { status: 'error', error: id, outputs: [] };

test('a trace without violations', () => {
	expect(audit({ lines: GOOD })).toEqual([]);
});

/** What is damaged, behind the promise that it breaks. */
const DAMAGED: Record<string, Line[]> = {
	'paidOnce: a second charge': add(again('request', 2, { n: 5 }), again('charge', 2, { n: 5 })),
	'paidOnce: a second create call, without an answer': add(again('request', 2, { n: 5 })),
	'paidOnce: a retry that pays again': add(
		...[again('launched', 60, { execution: retry }), again('ended', 70, { execution: retry })],
		again('attempt', 60, { attempt: 2, execution: retry }),
		...[again('request', 60, { n: 5, attempt: 2 }), again('charge', 60, { n: 5 })],
	),
	'paidOnce: more than the limit': add(...[5, 6].map((n) => again('request', 2, { n }))),
	"ownFile: another's file": outputs({ text: 'Other.' }),
	"ownFile: another's address": outputs({ text: 'Other.', fileIds: [] }),
	"ownFile: another client's file, of the same words": [
		...outputs({ fileIds: ['speech-1'], json: {} }),
		again('charge', 2, { n: undefined, id: 'speech-1' }),
		again('finished', 8, { id: 'speech-1', fileIds: ['speech-1'] }),
	],
	'ownFile: a file twice': outputs({}, {}),
	'ownFile: nothing given': outputs(),
	'ownFile: an address without its file': outputs({ fileIds: [] }),
	'ownFile: a file that nobody has made yet': change('finished', { at: 9600 }),
	'ownFile: an error, and on it goes': outputs({}, { json: { error: id } }),
	'deliveredOrNamed: nothing given': outputs(),
	'deliveredOrNamed: no subtitles': outputs({ fields: ['data'] }),
	'inTime: no end': lacking('ended'),
	'inTime: an end hours later': change('ended', { at: 9_000_000 }),
	'inTime: a reading after the end': add(again('request', 20, read)),
	'inTime: a reading long after the timeout': add(again('request', 1000, read)),
	'endsWell: a failure with a fault that passes': [
		{ at: 0, what: 'fault', kind: 'sockets', mode: 'deaf', ends: 5000 },
		...change('ended', failing),
	],
	'endsWell: a retry that fails after the faults': change('ended', failing),
	'endsWell: a retry that fails once all was made and announced': [
		{ at: 0, what: 'fault', kind: 'quota', ends: 5000 },
		...change('ended', failing),
		...[
			again('launched', 60, { execution: retry }),
			again('ended', 70, { ...failing, execution: retry }),
		],
	],
	'endsWell: a lost result that is found too late, with a stream that beats': [
		{ at: 0, what: 'fault', kind: 'heartbeats', ends: 5000 },
		...change('ended', { at: 400_000 }),
	],
	'readAtOnce: a reading that does not come': GOOD.filter(
		(line) => line.what !== 'request' || line.method === 'POST',
	),
	'atPace: two at once': [
		...outputs({}, { text: 'Another.', fileIds: ['speech-1'] }),
		...[again('request', 2, { n: 5 }), again('charge', 2, { n: 5, id: 'speech-1' })],
		again('finished', 9, { id: 'speech-1', fileIds: ['speech-1'] }),
	],
	'atPace: a create call long after the begin': change('attempt', { at: -5000 }),
	'afterOutage: a create call after one without an answer': [
		...change('answer', { status: 502 }).filter(({ what }) => what !== 'charge'),
		again('request', 2, { n: 5, text: 'Another.' }),
	],
	'atPace: an end long after the result': change('ended', { at: 30_000 }),
	'eventsOnce: an event twice': add(again('started', 10, { key: 'other' })),
	'eventsAll: no event': lacking('started'),
	'eventsOnce: an event before its time': change('started', { at: 3000 }),
	'eventsOnce: an event that nobody asked for': change(
		'started',
		event({ json: { ...eventItem.json, event: 'progress' }, fileIds: [] }),
	),
	'eventsOnce: an event of a task that is not named': change('published', {
		settings: { ...settings, taskIds: ['speech-9'] },
	}),
	'eventsOnce: an event without its file': change('started', event({ fileIds: [] })),
	'eventsOnce: an event of nobody': lacking('published'),
	'eventsOnce: an event after the end': change('unpublished', { at: 8000 }),
	'eventsAll: an event half an hour late': change('started', { at: 1_800_000 }),
	'eventsAll: a trigger that has died': add(again('published', 20, { refused: 'HTTP 502' })),
	'eventsAll: no event, as it was published again': [
		...lacking('started'),
		...[{ ...GOOD.at(-2)!, at: 9100 }, again('published', 9.2)],
	].sort((a, b) => a.at - b.at),
	'eventsKept: an emission that starts nothing': lacking('started'),
	'selfTrigger: what its sub-workflow has made': change('launched', {
		plan: { ...plan, calledBy: trigger },
	}),
	'bounded: a timer': change('leftOpen', { timers: 1 }),
	'bounded: no end': lacking('leftOpen'),
	'bounded: static data without end': change('saved', { text: 'x'.repeat(60_000) }),
	'bounded: a look into the history for each item': add(
		...Array.from({ length: 31 }, (_, n) => n + 20).flatMap((n) => [
			again('request', n, { n, method: 'GET', path: '/v1/video/histories' }),
			again('answer', n, { n }),
		]),
	),
	'bounded: a file fetched again and again': add(...[10, 11, 12].map((at) => again('served', at))),
	'tokenNowhere: the token at a file host': change('request', { host: 'files.worlds.test' }),
	'tokenNowhere: the token in the log': change('saved', { text: `Bearer ${TOKEN}` }),
	'tokenNowhere: a part of an address': change('saved', { text: encodeURIComponent(TOKEN) }),
	'inTime: requests after a stop': add({ at: 3000, what: 'stopped', execution }),
};

test.each(Object.entries(DAMAGED))('%s', (name, lines) => {
	const broken = audit({ lines }).map((complaint) => complaint.split(':')[0]);
	expect(broken).toContain(name.split(':')[0]);
});
