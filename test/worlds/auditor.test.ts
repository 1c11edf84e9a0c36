import { audit } from './auditor.mts';
import type { Fact, Line } from './ledger.mts';
import { TOKEN } from './service.mts';

/* A ledger in which all is well, and what the auditor says once it has been damaged by hand. */

const text = 'One text.';
const asked = {
	operation: 'speak',
	items: [text],
	options: { timeout: 900, concurrency: 1 },
	onError: 'stopWorkflow',
	tries: 1,
};
const [execution, process, trigger] = ['execution 0', 'n8n 0', 'trigger 0'];
const json = { task_id: 'speech-0', audio_url: 'https://files.worlds.test/made/speech-0.wav' };

const request = (n: number, method: string, path: string, host = 'api.worlds.test'): Fact[] => [
	{ what: 'request', n, method, host, path, ...(method === 'POST' ? { text } : {}) },
	{ what: 'asked', n, process, attempt: 1 },
	...(host.startsWith('api') ? [{ what: 'token', n, where: 'header' } as const] : []),
];
const charge = (n: number, id: string): Fact => ({
	what: 'charge',
	n,
	id,
	text,
	amount: 1,
	underWay: 1,
});
const ended = (more: object = {}): Fact => ({
	...{ what: 'ended', execution, status: 'success', given: [{ text, json, marks: ['speech-0'] }] },
	...more,
});
const started = (key: string, isNew = true): Fact => ({
	...{ what: 'started', trigger, key, isNew },
	given: { text: '', json: { event: 'completed', task_id: 'speech-0' }, marks: [] },
});

const at = (seconds: number, ...facts: Fact[]) =>
	facts.map((fact) => ({ at: seconds * 1000, ...fact }));
const GOOD: Line[] = [
	...at(
		0,
		{ what: 'published', trigger, process, events: ['completed'] },
		{ what: 'saved', trigger, text: '{}' },
	),
	...at(
		1,
		{ what: 'begun', execution, process, asked },
		{ what: 'attempt', attempt: 1, execution, texts: [text] },
	),
	...at(1, ...request(0, 'POST', '/v1/labs/task'), charge(0, 'speech-0'), {
		what: 'told',
		id: 'speech-0',
	}),
	...at(1, { what: 'answer', n: 0, status: 200 }),
	...at(9, { what: 'made', id: 'speech-0', marks: ['speech-0'] }),
	...at(
		9,
		{ what: 'heard', id: 'speech-0', percentage: 100, process },
		...request(1, 'GET', '/v1/labs/task/speech-0'),
	),
	...at(9, started('k'), ...request(2, 'GET', '/made/speech-0.wav', 'files.worlds.test'), {
		what: 'served',
		mark: 'speech-0',
	}),
	...at(9.5, ended()),
	...at(
		2000,
		{ what: 'unpublished', trigger },
		{ what: 'left', timers: 0, requests: 0, sockets: 0 },
	),
];

const add = (seconds: number, ...facts: Fact[]) =>
	[...GOOD, ...at(seconds, ...facts)].sort((a, b) => a.at - b.at);
const instead = (what: Fact['what'], ...facts: Fact[]) =>
	GOOD.flatMap((line) =>
		line.what === what ? facts.map((fact) => ({ at: line.at, ...fact })) : [line],
	);
const fault = (kind: string): Fact => ({
	what: 'fault',
	fault: JSON.stringify({ kind, as: 'deaf' }),
	ends: 5000,
});

test('nothing is wrong with a ledger in which all is well', () => {
	expect(audit({ lines: GOOD })).toEqual([]);
});

const again = `${execution} again`;
const create = (n: number, attempt = 1) =>
	request(n, 'POST', '/v1/labs/task').map((fact) =>
		fact.what === 'asked' ? { ...fact, attempt } : fact,
	);
const given = (...all: Array<{ text: string; marks: string[] }>) =>
	instead('ended', ended({ given: all.map((one) => ({ json, ...one })) }));
const lacking = (isLeftOut: (line: Line) => boolean) => GOOD.filter((line) => !isLeftOut(line));
const left = { timers: 1, requests: 0, sockets: 0 };
const served: Fact = { what: 'served', mark: 'speech-0' };

/** What is damaged, behind the promise that it breaks. */
const DAMAGED: Record<string, Line[]> = {
	'paidOnce: a second charge': add(2, ...create(5), charge(5, 'speech-0')),
	'paidOnce: a second create call, without an answer': add(2, ...create(5)),
	'paidOnce: a retry that pays again': add(
		60,
		{ what: 'begun', execution: again, process, asked },
		{ what: 'attempt', attempt: 2, execution: again, texts: [text] },
		...create(5, 2),
		charge(5, 'speech-0'),
		ended({ execution: again }),
	),
	"ownFile: another's file": given({ text: 'Other.', marks: ['speech-0'] }),
	"ownFile: another's address": given({ text: 'Other.', marks: [] }),
	'ownFile: a file twice': given({ text, marks: ['speech-0'] }, { text, marks: ['speech-0'] }),
	'deliveredOrNamed: nothing given': given(),
	'inTime: no end': lacking(({ what }) => what === 'ended'),
	'inTime: a failure with a fault that passes': [
		...at(0, fault('sockets')),
		...instead('ended', ended({ status: 'error', error: 'speech-0' })),
	],
	'inTime: a reading long after the timeout': add(
		1000,
		...request(6, 'GET', '/v1/labs/task/speech-0'),
	),
	'promptly: a reading that does not come': lacking(
		(line) => 'path' in line && line.path.endsWith('/speech-0'),
	),
	'promptly: a retry that fails after the faults': instead(
		'ended',
		ended({ status: 'error', error: 'speech-0' }),
	),
	'atPace: two at once': instead('charge', { ...charge(0, 'speech-0'), underWay: 2 } as Fact),
	'eventsOnce: an event twice': add(10, started('other key')),
	'eventsOnce: no event': lacking(({ what }) => what === 'started'),
	'eventsOnce: an event before its time': add(3, started('early')),
	'eventsOnce: a trigger that has died': add(5, { what: 'dead', trigger, text: 'HTTP 502' }),
	'bounded: a timer': instead('left', { what: 'left', ...left }),
	'bounded: static data without end': add(6, { what: 'saved', trigger, text: 'x'.repeat(60_000) }),
	'bounded: a file fetched again and again': add(10, served, served, served),
	'tokenAndStop: the token at a file host': add(9, { what: 'token', n: 2, where: 'header' }),
	'tokenAndStop: the token in the log': add(9, { what: 'said', process, text: `Bearer ${TOKEN}` }),
	'tokenAndStop: requests after a stop': add(3, { what: 'stopped', execution }),
};

test.each(Object.entries(DAMAGED))('%s', (name, lines) => {
	const broken = audit({ lines }).map((complaint) => complaint.split(':')[0]);
	expect(broken).toContain(name.split(':')[0]);
});
