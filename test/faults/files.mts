import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { FaultAction } from '../../simulator/simulator.mts';
import {
	always,
	FETCHING,
	IMAGE,
	onFile,
	PAGE,
	SPEAK,
	VIDEO,
	type Group,
	type Row,
} from './row.mts';

const MIB = 1024 * 1024;
const SOME = [SPEAK, VIDEO, 'history:getAll'] as const;

const file = (action: FaultAction, times = 1) =>
	(({ sim }) => sim.fault({ ...onFile, times, action })) satisfies Row['make'];

/** Something that passes for a file, packed; with `isDamaged` some bytes of it are wrong. */
const packed = (bytes: Buffer, isDamaged = false) => {
	const body = gzipSync(bytes);
	if (isDamaged) body.fill(0, body.length >> 1, (body.length >> 1) + 100);
	const headers = { 'Content-Type': 'audio/wav', 'Content-Encoding': 'gzip' };
	return { status: 200, headers, body };
};

/** 2 GiB of zeros in 2 MiB: gzip allows parts to follow one another. */
const bomb = () => {
	const part = gzipSync(Buffer.alloc(8 * MIB));
	return Buffer.concat(Array.from({ length: 256 }, () => part));
};

const NAMED = 'could not be downloaded…';

const passing: Array<[string, FaultAction]> = [
	['is cut off', { truncate: 100 }],
	['is cut off after its head', { truncate: 0 }],
	['is empty', { empty: true }],
	['is not there yet (404)', { respond: { status: 404 } }],
	['answers 503', { respond: { status: 503, body: PAGE } }],
	['is reset', { reset: true }],
	['is a page with status 200', { respond: { status: 200, body: PAGE } }],
	['is a JSON answer with status 200', { respond: { status: 200, body: { error: 'not yet' } } }],
	[
		'is packed and damaged',
		{ respond: packed(Buffer.from(randomBytes(5000).toString('hex')), true) },
	],
];

const files: Row[] = [
	...passing.map(([what, action]): Row => ({
		fault: `A file ${what}, once`,
		operations: SOME,
		make: file(action),
		outcome: 'result',
		note: 'it is fetched again',
	})),
	{
		fault: 'Files lie behind redirects on another host',
		operations: FETCHING,
		service: { dialect: { redirectFiles: true } },
		outcome: 'result',
		note: 'the token stays with the API',
	},
	...[400, 401, 403].map((signedStatus): Row => ({
		fault: `Files lie on the API's host behind signed addresses, which answer ${signedStatus} to the token`,
		operations: FETCHING,
		service: { dialect: { apiFiles: 'signed', signedStatus } },
		outcome: 'result',
		note: 'asked once more without the token',
	})),
	{
		fault: "Files lie on the API's host, which hands them out to the token only",
		operations: FETCHING,
		service: { dialect: { apiFiles: 'private' } },
		outcome: 'result',
	},
	{
		fault: 'The type does not match the file',
		operations: [SPEAK, VIDEO, IMAGE],
		setting: { text: 'A [sim:wrong-type=text/html]' },
		outcome: 'result',
		note: 'the type is told from the bytes',
	},
	{
		fault: 'The address has expired',
		operations: SOME,
		make: file({ respond: { status: 410, body: { error: 'expired' } } }, Infinity),
		outcome: 'fails',
		says: `${NAMED}410 (expired)`,
		note: 'with the task ID, or the address',
	},
	{
		fault: 'A redirect without end',
		operations: SOME,
		make: file({ redirect: '/files/around' }, Infinity),
		outcome: 'fails',
		says: `${NAMED}302`,
	},
	...['file:///etc/passwd', 'javascript:alert(1)'].map((redirect): Row => ({
		fault: `A redirect to \`${redirect.split(':')[0]}:\``,
		operations: [SPEAK, VIDEO],
		make: file({ redirect }, Infinity),
		outcome: 'fails',
		says: `${NAMED}302`,
	})),
	{
		fault: "A redirect to an address in n8n's own network",
		operations: SOME,
		isProtected: true,
		make: file({ redirect: 'http://127.0.0.2:9/latest/meta-data' }, Infinity),
		outcome: 'fails',
		says: '127.0.0.2:9 is blocked by the security settings of this n8n instance',
		note: "with n8n's protection on (`N8N_SSRF_PROTECTION_ENABLED`)",
	},
	{
		fault: "A WebSocket address in n8n's own network",
		operations: [SPEAK],
		isProtected: true,
		service: { pace: 0.2 },
		make: () => ({ credential: { webSocketUrl: 'ws://127.0.0.2:9' } }),
		outcome: 'result',
		says: 'WebSocket of the service could not be used',
		note: "with n8n's protection on: the task is looked up instead",
	},
	{
		fault: 'The disk is full',
		operations: SOME,
		make: (stage) => {
			stage.isDiskFull = true;
		},
		outcome: 'fails',
		says: `${NAMED}n8n could not store it: ENOSPC`,
	},
	{
		fault: 'A file comes packed (gzip) although it was not asked for so',
		operations: [SPEAK, 'speech:get'],
		make: (stage) => {
			stage.isOwnFile = true;
			file({ respond: packed(randomBytes(5000)) })(stage);
		},
		outcome: 'result',
		check: (_, result) => hasBytes(result, 5000),
	},
	{
		fault: 'A packed file that is 2 GiB when unpacked',
		isLong: true,
		operations: [SPEAK],
		make: ({ sim }) => {
			const headers = { 'Content-Type': 'audio/wav', 'Content-Encoding': 'gzip' };
			const respond = { status: 200, headers, body: bomb() };
			sim.fault({ ...onFile, ...always, action: { respond } });
		},
		outcome: 'fails',
		says: `${NAMED}larger than announced: more than 256 MB`,
		note: 'fetched once, and given up at 256 MB',
		check: ({ sim }) => {
			const asked = sim.requests.filter(({ path }) => path.startsWith('/files/audio')).length;
			if (asked !== 1) throw new Error(`it was fetched ${asked} times`);
		},
	},
];

function hasBytes(result: Parameters<NonNullable<Row['check']>>[1], expected: number): void {
	const sizes = result.items('Media Generation').map(({ binary }) => Number(binary?.data?.bytes));
	if (sizes.some((size) => size !== expected)) throw new Error(`the sizes are ${sizes.join()}`);
}

export const FILES: Group[] = [{ title: 'Files', rows: files }];
