import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { FaultAction } from '../../simulator/simulator.mts';
import { bomb, PAGE } from '../service/bodies.mts';
import {
	always,
	answer,
	FETCHING,
	IMAGE,
	isNotFollowed,
	on,
	row,
	SPEAK,
	VIDEO,
	type Row,
} from './row.mts';
import { NODE } from './stage.mts';

const SOME = [SPEAK, VIDEO, 'history:getAll'] as const;
const AUDIO = { 'Content-Type': 'audio/wav', 'Content-Encoding': 'gzip' };

const twoGib = bomb(2048);

const NAMED = 'could not be downloaded…';

const passing: Array<[string, FaultAction]> = [
	['is cut off', { truncate: 100 }],
	['is empty', answer(200).action],
	['is not there yet (404)', answer(404).action],
	['answers 503', answer(503, PAGE).action],
	['is reset', { reset: true }],
	['is a part of it (206)', answer(206, 'RIFF1234WAVE').action],
	['is a page with status 200', answer(200, PAGE).action],
	['is a JSON answer with status 200', answer(200, { error: 'not yet' }).action],
];

const files: Row[] = [
	...passing.map(([what, action]) =>
		row(`A file ${what}, once`, SOME, {
			faults: [{ ...on.file, action }],
			note: 'it is fetched again',
		}),
	),
	row('Files lie behind redirects on another host', FETCHING, {
		service: { dialect: { redirectFiles: true } },
		note: 'the token stays with the API',
	}),
	...([400, 401, 403] as const).map((signedStatus): Row => ({
		fault: `Files lie on the API's host behind signed addresses, which answer ${signedStatus} to the token`,
		operations: FETCHING,
		service: { dialect: { apiFiles: 'signed', signedStatus } },
		note: 'asked once more without the token',
	})),
	row("A file on the API's host is refused with the token and without it", [SPEAK], {
		service: { dialect: { relativeAudioUrl: true } },
		faults: [{ ...on.file, ...always, ...answer(401, { error: 'expired for you' }) }],
		fails: `${NAMED}401 (expired for you)…Speech → Collect with task ID`,
	}),
	...['', ', behind a redirect'].map((where) =>
		row(`The address of a file elsewhere has the token in it${where}`, [SPEAK], {
			service: { dialect: { relativeAudioUrl: true } },
			make: ({ sim }) => {
				const address = `${sim.fileOrigin}/files/a.wav?token=${encodeURIComponent(sim.token)}`;
				const made = answer(200, { id: 1, status: 'completed', audio_url: address });
				if (where) sim.fault({ ...on.file, action: { redirect: address } });
				else sim.fault({ ...on.read, ...always, ...made });
			},
			fails: 'could not be downloaded: the URL contains the API token but points to another host',
			check: isNotFollowed,
		}),
	),
	row("Files lie on the API's host, which hands them out to the token only", FETCHING, {
		service: { dialect: { apiFiles: 'private' } },
	}),
	row('The type does not match the file', [SPEAK, VIDEO, IMAGE], {
		setting: { text: 'A [sim:wrong-type=text/html]' },
		note: 'the type is told from the bytes',
	}),
	row('The address has expired', SOME, {
		faults: [{ ...on.file, ...always, ...answer(410, { error: 'expired' }) }],
		fails: `${NAMED}410 (expired)`,
		note: 'with the task ID, or the address',
	}),
	row('An endless redirect', SOME, {
		faults: [{ ...on.file, ...always, action: { redirect: '/files/around' } }],
		fails: `${NAMED}302`,
	}),
	row("A redirect to an address in n8n's own network", SOME, {
		isProtected: true,
		faults: [
			{ ...on.file, ...always, action: { redirect: 'http://127.0.0.2:9/latest/meta-data' } },
		],
		fails: '127.0.0.2:9 is blocked by the security settings of this n8n instance',
		note: "with n8n's protection on (`N8N_SSRF_PROTECTION_ENABLED`)",
	}),
	row("A WebSocket address in n8n's own network", [SPEAK], {
		isProtected: true,
		service: { pace: 0.2 },
		setting: { credential: { webSocketUrl: 'ws://127.0.0.2:9' } },
		hints: 'WebSocket could not be opened',
		note: "with n8n's protection on: the task is looked up instead",
	}),
	row('The disk is full', SOME, {
		make: (stage) => stage.fillDisk(),
		fails: `${NAMED}n8n could not store it: ENOSPC`,
	}),
	row('A file comes compressed (gzip) though nobody asked for that', [SPEAK, 'speech:get'], {
		faults: [{ ...on.file, ...answer(200, gzipSync(randomBytes(5000)), AUDIO) }],
		isOwnFile: true,
		check: (_, result) =>
			assert.ok(result.items(NODE).every(({ binary }) => binary?.data?.bytes === 5000)),
	}),
	row('A compressed file that unpacks to 2 GiB', [SPEAK], {
		isLong: true,
		make: ({ sim }) => {
			sim.fault({ ...on.file, ...always, ...answer(200, twoGib(), AUDIO) });
		},
		fails: `${NAMED}too large: more than 256 MB`,
		note: 'fetched once, and given up at 256 MB',
		check: ({ sim }) => {
			assert.equal(sim.count('GET', '/files/audio'), 1);
		},
	}),
];

export const FILES = [{ title: 'Files', rows: files }];
