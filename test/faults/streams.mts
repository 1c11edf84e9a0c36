import assert from 'node:assert/strict';
import type { FaultRule, StreamStep } from '../../simulator/simulator.mts';
import {
	always,
	answer,
	dialect,
	event,
	STREAMED,
	IMAGE,
	on,
	RETRY,
	row,
	status,
	VIDEO,
	WITH_IMAGES,
	type Row,
} from './row.mts';
import { NODE, type Stage } from './stage.mts';

const FOUND_IN_HISTORY = 'searched the history instead of requesting it again';
/** A pause in which the node reads what was sent before. */
const PAUSE = { delayMs: 20 };

/** Sends these steps instead of the stream. The result is in the history after that time, or never. */
const stream = (sse: StreamStep[], finishesInHistoryAfterMs?: number): FaultRule => ({
	...on.create,
	action: { sse, finishesInHistoryAfterMs },
});

const FILE = { ...on.file, ...always, ...answer(200, '\0the file') };

/** Download File is off, as a field or as an option. */
const UNFETCHED = { download: false };

/** The stream ends early. */
const BROKEN: StreamStep[] = [status('processing {token}'), PAUSE, 'END'];

/** Adds entries with the prompt of the request to the history. */
function entries({ sim, operation }: Stage, ...ids: string[]): void {
	for (const id of ids) {
		sim.history.push({
			id,
			prompt: 'A lighthouse in the rain',
			type: operation.startsWith('image:') ? 'image' : 'video',
			file_url: `${sim.fileOrigin}/files/${id}`,
			status: 'completed',
			created_at: new Date(Date.now() + 5000).toISOString(),
		});
	}
}

const lostStream = (
	fault: string,
	sse: StreamStep[],
	operations: Row['operations'] = [VIDEO, IMAGE],
): Row => ({
	...{ fault, operations, faults: [stream(sse, 0)], hints: FOUND_IN_HISTORY },
	check: ({ messages }) => assert.match(messages.join(), /looking for the \w+ in the history/),
});

const ERROR_EVENTS = [
	['object', '`{ code, error }`', STREAMED],
	['message', '`{ message }`', [VIDEO]],
	['string', 'a bare string', [VIDEO]],
	['broken', 'broken JSON', [VIDEO]],
] as const;

const shapes: Row[] = [
	dialect('Event data: a bare word', STREAMED, { sseStatus: 'bare' }),
	dialect('Event data: an object', STREAMED, { sseStatus: 'object' }),
	dialect('There is no space after the colon, and lines end with CR LF', STREAMED, {
		sseSpace: false,
		sseNewline: '\r\n',
	}),
	dialect('A stream arrives byte by byte, with comments', [VIDEO], {
		sseChunk: 1,
		sseComments: true,
	}),
	dialect('Status words beyond the contract', STREAMED, { sseStatusWords: 'more' }),
	dialect('An image stream whose end has an unknown name', [IMAGE], { imageEndEvent: 'all_set' }),
	dialect('The completion is a single object', STREAMED, { completion: 'object' }),
	dialect('The history lists a generation before it is finished', STREAMED, {
		historyShowsInProgress: true,
	}),
	dialect('An unknown status word in the completion', STREAMED, {
		itemStatus: 'MEDIA_GENERATION_STATUS_SUCCESSFUL',
	}),
	row('Plain JSON instead of a stream', STREAMED, { setting: { text: 'A [sim:plain-json]' } }),
	row('One completion per video, and an error instead of the last one', [VIDEO], {
		setting: { parameters: { numberOfVideos: 3 } },
		make: (stage) => {
			entries(stage, 'a', 'b', 'c');
			const [a, b] = stage.sim.history.map((item) => event('x_complete', item)) as [string, string];
			stage.sim.fault(stream([a, b, event('error', 'overloaded'), 'END']));
		},
		faults: [FILE],
		isOwnFile: true,
		check: (_, result) => assert.equal(result.items(NODE).length, 3),
		note: 'the last video is taken from the history',
	}),
	...(['with its ID', 'without an ID'] as const).map((how) =>
		row(`An error event for one of four videos, ${how}, before the others`, [VIDEO], {
			setting: { parameters: { numberOfVideos: 4 }, node: RETRY },
			make: (stage) => {
				entries(stage, 'a', 'b', 'c');
				const id = how === 'with its ID' ? 'x' : undefined;
				const videos = stage.sim.history.splice(0).map((item) => event('x_complete', item));
				stage.sim.fault(stream([event('error', { id, error: 'UNSAFE' }), PAUSE, ...videos, 'END']));
			},
			faults: [{ ...on.file, ...answer(410) }, FILE],
			isOwnFile: true,
			hints:
				'of an earlier attempt…fewer files than requested…Reason for the missing files: UNSAFE',
			check: (_, result) => assert.equal(result.items(NODE).length, 3),
			note: 'this also holds if Retry On Fail runs the node again',
		}),
	),
	row('One completion per video, and the stream is reset', [VIDEO], {
		setting: {
			parameters: { numberOfVideos: 3, ...UNFETCHED },
			options: { timeout: 3, ...UNFETCHED },
		},
		make: (stage) => {
			entries(stage, 'a');
			const a = event('x_complete', stage.sim.history.pop());
			stage.sim.fault(stream([a, PAUSE, 'RESET']));
		},
		faults: [FILE],
		isOwnFile: true,
		check: (_, result) => assert.equal(result.items(NODE).length, 1),
		hints: '1 of 3 …may still appear…History → Get Many',
	}),
	row('A stream that lasts longer than **Idle Timeout**, but is never silent that long', [VIDEO], {
		setting: { options: { idleTimeout: 2, timeout: 30 } },
		make: (stage) => {
			entries(stage, 'a');
			const end = event('x_complete', stage.sim.history.pop());
			const pause = { delayMs: 800 };
			const processing = [status('processing'), pause];
			stage.sim.fault(
				stream([status('starting'), pause, ...processing, ...processing, end, 'END']),
			);
		},
		faults: [FILE],
		isOwnFile: true,
	}),
	row('Fewer videos than requested, and Retry On Fail runs the node again', [VIDEO], {
		setting: { text: 'A [sim:fewer]', parameters: { numberOfVideos: 3 }, node: RETRY },
		faults: [{ ...on.file, ...answer(410) }],
		hints: 'of an earlier attempt…fewer files than requested',
		check: ({ sim }) => assert.equal(sim.countRequests('GET', '/v1/video/histories'), 1),
	}),
	...ERROR_EVENTS.map(([errorShape, shape, operations]) =>
		row(`An error event: ${shape}`, operations, {
			service: { dialect: { errorShape } },
			setting: { text: 'A [sim:unsafe]' },
			fails: 'could not generate the …: UNSAFE_GENERATION',
		}),
	),
	row('An error event: AUDIO_FILTERED', [VIDEO], {
		faults: [stream([event('error', { code: 400, error: 'AUDIO_FILTERED' }), 'END'])],
		fails: 'could not generate the …: AUDIO_FILTERED',
	}),
];

const losses: Row[] = [
	lostStream('A stream without any event', [PAUSE, 'END']),
	lostStream('A stream that ends after status events', [
		status('starting'),
		status('processing'),
		PAUSE,
		'END',
	]),
	lostStream('A stream that is reset', [status('processing'), PAUSE, 'RESET']),
	row(
		'A stream is reset after it named an ID; the history also has another result with the same prompt',
		STREAMED,
		{
			make: (stage) => entries(stage, 'twin', 'mine'),
			faults: [
				stream([
					event('video_generation_status', { status: 'processing', id: 'mine' }),
					PAUSE,
					'RESET',
				]),
				FILE,
			],
			isOwnFile: true,
			check: (_, result) => assert.equal(result.items(NODE)[0]!.json.id, 'mine'),
			hints: FOUND_IN_HISTORY,
		},
	),
	row('The create call is refused once, and the stream of the next call breaks', [VIDEO], {
		setting: { options: { timeout: 8 } },
		faults: [{ ...on.create, ...answer(429) }, stream(BROKEN, 0)],
		hints: FOUND_IN_HISTORY,
		sent: 2,
	}),
	row('A request fails, Retry On Fail is on, and the stream of the next request breaks', [VIDEO], {
		setting: { node: RETRY, options: { timeout: 8 } },
		faults: [stream([event('error', 'Out of luck'), 'END']), stream(BROKEN, 0)],
		hints: FOUND_IN_HISTORY,
		sent: 2,
		paid: 2,
	}),
	lostStream('Truncated JSON instead of a stream', ['[{"id": "x", ', PAUSE, 'END']),
	{
		...lostStream(
			'A completion with a `file:` or `javascript:` URL',
			[
				event('video_generation_complete', [
					{ file_url: 'file:///etc/passwd' },
					{ file_url: 'javascript:alert(1)' },
				]),
				PAUSE,
			],
			[VIDEO],
		),
		note: 'the node ignores it',
	},
	{
		...lostStream('Silence for longer than **Idle Timeout**', [status('processing')]),
		setting: { options: { idleTimeout: 1 } },
	},
	...([3600, -3600] as const).map((clockSkewSeconds): Row => ({
		...lostStream(
			`The stream breaks, and the service's clock is an hour ${clockSkewSeconds > 0 ? 'ahead' : 'behind'}`,
			BROKEN,
		),
		service: { dialect: { clockSkewSeconds } },
	})),
	row('The stream breaks, and the result never appears in the history', [VIDEO, IMAGE], {
		setting: { options: { timeout: 8 } },
		faults: [stream(BROKEN)],
		fails: 'result did not arrive…has been charged…only looks again',
	}),
	row('The stream breaks, and the history has two results with the same prompt', [VIDEO], {
		setting: { options: { timeout: 8 } },
		faults: [stream(BROKEN, 0)],
		make: (stage) => entries(stage, 'twin'),
		fails: 'result did not arrive…may be the result: …twin',
		note: "the node never takes a result that may be someone else's",
	}),
	{
		fault:
			'The stream of a request with images breaks, and the history has a result with the same prompt',
		operations: WITH_IMAGES,
		setting: { options: { timeout: 8 } },
		faults: [stream(BROKEN)],
		make: (stage) => entries(stage, 'twin'),
		fails: 'result did not arrive…may be the result: …twin',
		note: 'someone else may have used the same prompt with other images',
	},
];

export const STREAMS = [
	{ title: 'Generation streams', rows: shapes },
	{ title: 'Lost streams', rows: losses },
];
