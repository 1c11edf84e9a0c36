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

const SOME_FETCHING = [SPEAK, VIDEO, 'history:getAll'] as const;
const AUDIO = { 'Content-Type': 'audio/wav', 'Content-Encoding': 'gzip' };

const twoGib = bomb(2048);

const NOT_DOWNLOADED = 'could not be downloaded…';

const temporary: Array<[string, FaultAction]> = [
	['is cut off', { truncateAfterBytes: 100 }],
	['is empty', answer(200).action],
	['is not there yet (404)', answer(404).action],
	['host answers 503', answer(503, PAGE).action],
	['is reset', { reset: true }],
	['is incomplete (206)', answer(206, 'RIFF1234WAVE').action],
	['is a web page with status 200', answer(200, PAGE).action],
	['is a JSON response with status 200', answer(200, { error: 'not yet' }).action],
];

const files: Row[] = [
	...temporary.map(([what, action]) =>
		row(`A file ${what}, once`, SOME_FETCHING, {
			faults: [{ ...on.file, action }],
			note: 'the node downloads it again',
		}),
	),
	row('Files are on another host, behind redirects', FETCHING, {
		service: { dialect: { redirectFiles: true } },
		note: 'the token is sent only to the API',
	}),
	...([400, 401, 403] as const).map((signedStatus): Row => ({
		fault: `Files are on the API's host at signed URLs, which answer ${signedStatus} to the token`,
		operations: FETCHING,
		service: { dialect: { apiFiles: 'signed', signedStatus } },
		note: 'the node requests the file again without the token',
	})),
	row("A file on the API's host is refused both with the token and without it", [SPEAK], {
		service: { dialect: { relativeAudioUrl: true } },
		faults: [{ ...on.file, ...always, ...answer(401, { error: 'expired for you' }) }],
		fails: `${NOT_DOWNLOADED}401 (expired for you)…Speech → Collect with task ID`,
	}),
	...['', ', behind a redirect'].map((where) =>
		row(`The URL of a file on another host contains the token${where}`, [SPEAK], {
			service: { dialect: { relativeAudioUrl: true } },
			make: ({ sim }) => {
				const address = `${sim.fileOrigin}/files/a.wav?token=${encodeURIComponent(sim.token)}`;
				const completed = answer(200, { id: 1, status: 'completed', audio_url: address });
				if (where) sim.fault({ ...on.file, action: { redirect: address } });
				else sim.fault({ ...on.read, ...always, ...completed });
			},
			fails: 'could not be downloaded: the URL contains the API token but points to another host',
			check: isNotFollowed,
		}),
	),
	row("Files are on the API's host, which requires the token", FETCHING, {
		service: { dialect: { apiFiles: 'private' } },
	}),
	row('The content type does not match the file', [SPEAK, VIDEO, IMAGE], {
		setting: { text: 'A [sim:wrong-type=text/html]' },
		note: 'the node detects the type from the bytes',
	}),
	row('The URL has expired', SOME_FETCHING, {
		faults: [{ ...on.file, ...always, ...answer(410, { error: 'expired' }) }],
		fails: `${NOT_DOWNLOADED}410 (expired)`,
		note: 'the message contains the task ID, or the URL',
	}),
	row('An endless redirect', SOME_FETCHING, {
		faults: [{ ...on.file, ...always, action: { redirect: '/files/around' } }],
		fails: `${NOT_DOWNLOADED}302`,
	}),
	row("A redirect to a URL in n8n's own network", SOME_FETCHING, {
		isProtected: true,
		faults: [
			{ ...on.file, ...always, action: { redirect: 'http://127.0.0.2:9/latest/meta-data' } },
		],
		fails: '127.0.0.2:9 is blocked by the security settings of this n8n instance',
		note: "this is with n8n's protection on (`N8N_SSRF_PROTECTION_ENABLED`)",
	}),
	row("A WebSocket URL in n8n's own network", [SPEAK], {
		isProtected: true,
		service: { pace: 0.2 },
		setting: { credential: { webSocketUrl: 'ws://127.0.0.2:9' } },
		hints: 'WebSocket was not open',
		note: "with n8n's protection on, the task is polled instead",
	}),
	row('The disk is full', SOME_FETCHING, {
		make: (stage) => stage.fillDisk(),
		fails: `${NOT_DOWNLOADED}n8n could not store it (ENOSPC`,
	}),
	row(
		'A file arrives compressed (gzip), although the node did not ask for that',
		[SPEAK, 'speech:get'],
		{
			faults: [{ ...on.file, ...answer(200, gzipSync(randomBytes(5000)), AUDIO) }],
			isOwnFile: true,
			check: (_, result) =>
				assert.ok(result.items(NODE).every(({ binary }) => binary?.data?.bytes === 5000)),
		},
	),
	row('A compressed file that unpacks to 2 GiB', [SPEAK], {
		isLong: true,
		make: ({ sim }) => {
			sim.fault({ ...on.file, ...always, ...answer(200, twoGib(), AUDIO) });
		},
		fails: `${NOT_DOWNLOADED}larger than 256 MB`,
		note: 'the node downloads it once, and stops at 256 MB',
		check: ({ sim }) => {
			assert.equal(sim.countRequests('GET', '/files/audio'), 1);
		},
	}),
];

export const FILES = [{ title: 'Files', rows: files }];
