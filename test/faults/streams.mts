import assert from 'node:assert/strict';
import type { Dialect, FaultAction } from '../../simulator/simulator.mts';
import {
	always,
	event,
	GENERATIONS,
	IMAGE,
	onCreate,
	onFile,
	status,
	VIDEO,
	type Group,
	type Row,
} from './row.mts';
import { NODE, type Stage } from './stage.mts';

const FOUND = 'looked up in the history. It was not requested a second time';

const dialect = (fault: string, changes: Partial<Dialect>, operations = GENERATIONS): Row => ({
	fault,
	operations,
	service: { dialect: changes },
	outcome: 'result',
});

/** The stream is this instead; the result is in the history at once, unless told. */
const stream = (sse: FaultAction['sse'], inHistoryAfterMs: number | 'never' = 0) =>
	(({ sim }) => {
		const after =
			inHistoryAfterMs === 'never' ? {} : { finishesInHistoryAfterMs: inHistoryAfterMs };
		sim.fault({ ...onCreate, action: { sse, ...after } });
	}) satisfies Row['make'];

/** Entries of the prompt that is asked for. */
function entries({ sim, operation }: Stage, ...ids: string[]): void {
	for (const id of ids) {
		sim.history.push({
			id,
			prompt: 'A lighthouse in the rain',
			type: operation === IMAGE ? 'image' : 'video',
			file_url: `${sim.fileOrigin}/files/${id}`,
			status: 'completed',
			created_at: new Date(Date.now() + 5000).toISOString(),
		});
	}
}

const lost = (
	fault: string,
	sse: FaultAction['sse'],
	operations: Row['operations'] = [VIDEO, IMAGE],
): Row => ({ fault, operations, make: stream(sse), outcome: 'result', says: FOUND });

const shapes: Row[] = [
	dialect('Event data: a bare word', { sseStatus: 'bare' }),
	dialect('Event data: an object', { sseStatus: 'object' }),
	dialect('No space after the colon, lines end with CR LF', {
		sseSpace: false,
		sseNewline: '\r\n',
	}),
	dialect('A stream byte by byte, with comments', { sseChunk: 1, sseComments: true }, [VIDEO]),
	dialect('Status words beyond the contract', { sseStatusWords: 'more' }),
	dialect('An image stream whose end has an unknown name', { imageEndEvent: 'all_set' }, [IMAGE]),
	dialect('The completion is a single object', { completion: 'object' }),
	dialect('An unknown status word in the completion', {
		itemStatus: 'MEDIA_GENERATION_STATUS_SUCCESSFUL',
	}),
	dialect('Plain JSON instead of a stream', { plainJson: true }),
	{
		fault: 'Completions that come one per video, and an error before the last',
		operations: [VIDEO],
		setting: { parameters: { numberOfVideos: 3 } },
		make: (stage) => {
			const { sim } = stage;
			entries(stage, 'a', 'b', 'c');
			const completions = sim.history.slice(0, 2).map((item) => event('x_complete', item));
			stream([...completions, event('error', 'overloaded'), 'END'], 'never')(stage as never);
			sim.fault({ ...onFile, ...always, action: { respond: { status: 200, body: 'the file' } } });
			stage.isOwnFile = true;
		},
		outcome: 'result',
		check: (_, result) => assert.equal(result.items(NODE).length, 3),
		note: 'the last is taken from the history',
	},
	{
		fault: 'Fewer videos than asked for',
		operations: [VIDEO],
		setting: { text: 'A [sim:fewer]', parameters: { numberOfVideos: 3 } },
		outcome: 'result',
		says: 'fewer files than requested',
	},
	...(['object', 'message', 'string', 'broken'] as const).map((errorShape): Row => ({
		fault: `An error event: ${errorShape === 'broken' ? 'broken JSON' : errorShape === 'string' ? 'a bare string' : errorShape === 'message' ? '`{ message }`' : '`{ code, error }`'}`,
		operations: errorShape === 'object' ? GENERATIONS : [VIDEO],
		service: { dialect: { errorShape } },
		setting: { text: 'A [sim:unsafe]' },
		outcome: 'fails',
		says: 'could not generate this: …UNSAFE_GENERATION',
	})),
	{
		fault: 'An error event: AUDIO_FILTERED',
		operations: [VIDEO],
		make: stream([event('error', { code: 400, error: 'AUDIO_FILTERED' }), 'END'], 'never'),
		outcome: 'fails',
		says: 'could not generate this: AUDIO_FILTERED',
	},
	{
		fault: "An edge's page instead of a stream",
		operations: GENERATIONS,
		make: ({ sim }) => {
			const respond = { status: 200, body: '<!DOCTYPE html><html></html>' };
			sim.fault({ ...onCreate, action: { respond } });
		},
		outcome: 'fails',
		says: 'does not come from a media generation service…may have accepted',
		paid: 0,
	},
];

const losses: Row[] = [
	lost('A stream without any event', [{ delayMs: 20 }, 'END']),
	lost('A stream that ends after status events', [
		status('starting'),
		status('processing'),
		{ delayMs: 20 },
		'END',
	]),
	lost('A stream that is reset', [status('processing'), { delayMs: 20 }, 'RESET']),
	{
		fault: 'A stream that is reset after it told an id, among others of the same prompt',
		operations: GENERATIONS,
		make: (stage) => {
			const told = event('video_generation_status', { status: 'processing', id: 'mine' });
			stream([told, { delayMs: 20 }, 'RESET'], 'never')(stage as never);
			entries(stage, 'twin', 'mine');
			const respond = { status: 200, body: 'the file' };
			stage.sim.fault({ ...onFile, action: { respond } });
			stage.isOwnFile = true;
		},
		check: (_, result) => assert.equal(result.items(NODE)[0]!.json.id, 'mine'),
		outcome: 'result',
		says: FOUND,
	},
	lost('A completion that is cut in two', [
		'event: video_generation_complete\ndata: [{"id":"x","file_u',
		{ delayMs: 20 },
		'RESET',
	]),
	lost('A completion with nothing in it', [
		event('video_generation_complete', []),
		{ delayMs: 20 },
	]),
	lost('Plain JSON that breaks off', ['[{"id": "x", ', { delayMs: 20 }, 'END']),
	lost('Bytes that are no text', [Buffer.from([0xff, 0xfe, 0, 1, 10, 10]), { delayMs: 20 }, 'END']),
	{
		fault: 'A completion with a `file:` or `javascript:` address',
		operations: [VIDEO],
		make: stream([
			event('video_generation_complete', [
				{ id: 'x', file_url: 'file:///etc/passwd' },
				{ id: 'y', file_url: 'javascript:alert(1)' },
			]),
			{ delayMs: 20 },
		]),
		outcome: 'result',
		says: FOUND,
		note: 'counts as no address',
	},
	{
		fault: 'Silence for longer than `Idle Timeout`',
		operations: [VIDEO, IMAGE],
		setting: { options: { idleTimeout: 1 } },
		make: stream([status('processing')]),
		outcome: 'result',
		says: FOUND,
	},
	{
		fault: 'The stream breaks, and the history has the result only seconds later',
		operations: [VIDEO],
		isLong: true,
		setting: { options: { timeout: 60 } },
		make: stream([status('processing'), 'END'], 1500),
		outcome: 'result',
		says: FOUND,
	},
	...[3600, -3600].map((clockSkewSeconds): Row => ({
		fault: `The stream breaks, and the clock of the service is an hour ${clockSkewSeconds > 0 ? 'ahead' : 'behind'}`,
		operations: [VIDEO, IMAGE],
		service: { dialect: { clockSkewSeconds } },
		make: stream([status('processing'), { delayMs: 20 }, 'END']),
		outcome: 'result',
		says: FOUND,
	})),
	{
		fault: 'The stream breaks, and the history never has the result',
		operations: [VIDEO, IMAGE],
		setting: { options: { timeout: 8 } },
		make: stream([status('processing'), 'END'], 'never'),
		outcome: 'fails',
		says: 'stopped reporting before the result was ready…has been charged…not requested a second time',
	},
	{
		fault: 'The stream breaks, and the history has two of the same prompt',
		operations: [VIDEO],
		make: (stage) => {
			stream([status('processing'), { delayMs: 20 }, 'END'])(stage as never);
			entries(stage, 'twin');
		},
		outcome: 'fails',
		says: 'stopped reporting…may be the result: …twin',
		note: 'never takes what may be somebody else’s',
	},
	{
		fault:
			'The stream breaks, images are part of the request, and the history has one of its prompt',
		operations: ['video:ingredientsToVideo', 'video:framesToVideo'],
		setting: { options: { timeout: 2 } },
		make: (stage) => {
			stream([status('processing'), { delayMs: 20 }, 'END'], 'never')(stage as never);
			entries(stage, 'twin');
		},
		outcome: 'fails',
		says: 'stopped reporting…may be the result: …twin',
		note: 'takes it only after five minutes in which no other came',
	},
];

export const STREAMS: Group[] = [
	{ title: 'Generation streams', rows: shapes },
	{ title: 'Streams that are lost', rows: losses },
];
