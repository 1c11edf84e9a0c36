import { audit } from './auditor.mts';
import type { Fact, Line } from './ledger.mts';
import { TOKEN } from './service.mts';

/* A ledger in which all is well, and what the auditor says once it has been damaged by hand. */

const text = 'One text.';
const [execution, process, trigger, id] = ['execution 0', 'n8n 0', 'trigger 0', 'speech-0'];
const asked = {
	...{ operation: 'speak', items: [text], onError: 'stopWorkflow' as const, tries: 1 },
	options: { timeout: 900, concurrency: 1, subtitles: true, maxPaidPerExecution: 2 },
};
const wanted = { events: ['completed', 'failed'], taskIds: [] as string[], download: true };
const item = {
	...{ text, marks: [id], fields: ['data', 'subtitles'] },
	json: { task_id: id, audio_url: `https://files.worlds.test/made/${id}.wav` },
};

const request = (n: number, method: string, path: string, more: object = {}): Fact => ({
	...{ what: 'request', n, method, path, host: 'api.worlds.test', process },
	...{ token: 'header', attempt: 1, text: method === 'POST' ? text : undefined, ...more },
});
const create = (n: number, attempt = 1) => request(n, 'POST', '/v1/labs/task', { attempt });
const read = (n: number, more?: object) => request(n, 'GET', `/v1/labs/task/${id}`, more);
const charge = (n: number, underWay = 1): Fact => {
	return { what: 'charge', n, id, text, amount: 1, underWay };
};
const begun = (name = execution): Fact => ({ what: 'begun', execution: name, process, asked });
const attempt = (number: number, name = execution): Fact => {
	return { what: 'attempt', attempt: number, execution: name, texts: [text] };
};
const ended = (more: object = {}): Fact => {
	return { what: 'ended', execution, status: 'success', given: [item], ...more };
};
const started = (key: string, json: object = {}, marks = [id]): Fact => ({
	...{ what: 'started', trigger, key, isNew: true },
	given: { text: '', json: { event: 'completed', task_id: id, ...json }, marks, fields: ['data'] },
});
const published = (more: object = {}): Fact => {
	return { what: 'published', trigger, process, wanted, ...more };
};
const served: Fact = { what: 'served', file: `${id}.wav` };
const left = { what: 'left', timers: 0, requests: 0, sockets: 0 } as const;

const at = (seconds: number, ...facts: Fact[]): Line[] =>
	facts.map((fact) => ({ at: seconds * 1000, ...fact }));
const GOOD: Line[] = [
	...at(0, published(), { what: 'saved', trigger, text: '{}' }),
	...at(1, begun(), attempt(1), create(0), charge(0), { what: 'told', id }),
	...at(1, { what: 'answer', n: 0, status: 200 }),
	...at(9, { what: 'made', id, marks: [id] }, { what: 'heard', id, percentage: 100, process }),
	...at(9, read(1), served, started('key')),
	...at(9.5, ended()),
	...at(2000, { what: 'unpublished', trigger }, left),
];

const add = (seconds: number, ...facts: Fact[]) =>
	[...GOOD, ...at(seconds, ...facts)].sort((a, b) => a.at - b.at);
const instead = (fact: Fact) =>
	GOOD.map((line) => (line.what === fact.what ? { at: line.at, ...fact } : line));
const lacking = (what: Fact['what']) => GOOD.filter((line) => line.what !== what);
const given = (...all: object[]) =>
	instead(ended({ given: all.map((one) => ({ ...item, ...one })) }));
const again = `${execution} again`;
const failing = ended({ status: 'error', error: id });

test('nothing is wrong with a ledger in which all is well', () => {
	expect(audit({ lines: GOOD })).toEqual([]);
});

/** What is damaged, behind the promise that it breaks. */
const DAMAGED: Record<string, Line[]> = {
	'paidOnce: a second charge': add(2, create(5), charge(5)),
	'paidOnce: a second create call, without an answer': add(2, create(5)),
	'paidOnce: a retry that pays again': add(
		60,
		...[begun(again), attempt(2, again), create(5, 2), charge(5), ended({ execution: again })],
	),
	'paidOnce: more than the limit': add(2, create(5), create(6)),
	"ownFile: another's file": given({ text: 'Other.' }),
	"ownFile: another's address": given({ text: 'Other.', marks: [] }),
	'ownFile: a file twice': given({}, {}),
	'ownFile: nothing given': given(),
	'deliveredOrNamed: nothing given': given(),
	'deliveredOrNamed: no subtitles': given({ fields: ['data'] }),
	'inTime: no end': lacking('ended'),
	'inTime: a reading long after the timeout': add(1000, read(6)),
	'endsWell: a failure with a fault that passes': [
		...at(0, { what: 'fault', kind: 'sockets', as: 'deaf', ends: 5000 }),
		...instead(failing),
	],
	'endsWell: a retry that fails after the faults': instead(failing),
	'heardAtOnce: a reading that does not come': GOOD.filter(
		(line) => line.what !== 'request' || line.method === 'POST',
	),
	'atPace: two at once': instead(charge(0, 2)),
	'atPace: an end long after the result': [...lacking('ended'), ...at(30, ended())],
	'eventsOnce: an event twice': add(10, started('other key')),
	'eventsAll: no event': lacking('started'),
	'eventsOnce: an event before its time': add(3, started('early')),
	'eventsOnce: an event that nobody asked for': add(10, started('more', { event: 'progress' }, [])),
	'eventsOnce: an event of a task that is not named': instead(
		published({ wanted: { ...wanted, taskIds: ['speech-9'] } }),
	),
	'eventsOnce: an event without its file': instead(started('key', {}, [])),
	'eventsAll: a trigger that has died': add(20, published({ refused: 'HTTP 502' })),
	'bounded: a timer': instead({ ...left, timers: 1 }),
	'bounded: static data without end': instead({ what: 'saved', trigger, text: 'x'.repeat(60_000) }),
	'bounded: a file fetched again and again': add(10, served, served, served),
	'tokenNowhere: the token at a file host': add(9, read(2, { host: 'files.worlds.test' })),
	'tokenNowhere: the token in the log': add(9, { what: 'said', process, text: `Bearer ${TOKEN}` }),
	'stops: requests after a stop': add(3, { what: 'stopped', execution }),
};

test.each(Object.entries(DAMAGED))('%s', (name, lines) => {
	const broken = audit({ lines }).map((complaint) => complaint.split(':')[0]);
	expect(broken).toContain(name.split(':')[0]);
});
