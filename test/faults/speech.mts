import type { Dialect } from '../../simulator/simulator.mts';
import { FakeService } from '../service/fakeService.mts';
import { always, onCreate, onRead, PAGE, SPEAK, type Group, type Row } from './row.mts';

const TASKS = [SPEAK, 'speech:get', 'speech:wait'] as const;

const dialect = (fault: string, changes: Partial<Dialect>, operations: Row['operations']): Row => ({
	fault,
	operations,
	service: { dialect: changes },
	outcome: 'result',
});

const tasks: Row[] = [
	dialect('The audio address is called `result`', { audioField: 'result' }, TASKS),
	dialect('The audio address is an object', { audioField: 'nested' }, TASKS),
	dialect('The audio address is a relative path', { relativeAudioUrl: true }, TASKS),
	dialect('Ids are UUIDs', { taskId: 'uuid' }, TASKS),
	dialect('The create response calls the id `id`', { createIdField: 'id' }, [SPEAK]),
	dialect('Status words in capitals', { statusCase: 'UPPER' }, TASKS),
	...(['error', 'failed', 'cancelled', 'canceled'] as const).map((failureWord): Row => ({
		fault: `The task fails with \`${failureWord}\`, and the WebSocket says nothing`,
		operations: [SPEAK],
		service: { dialect: { failureWord, statusCase: failureWord === 'failed' ? 'UPPER' : 'lower' } },
		setting: { text: 'A [sim:task-fails]' },
		outcome: 'fails',
		says: 'could not generate the speech: Speech synthesis failed – task …',
	})),
	{
		fault: 'The task fails without a reason',
		operations: [SPEAK],
		service: { dialect: { failureField: 'none' } },
		setting: { text: 'A [sim:task-fails-late]' },
		outcome: 'fails',
		says: 'could not generate the speech – task …',
	},
	{
		fault: 'An unknown status',
		operations: [SPEAK, 'speech:wait'],
		make: ({ sim }) => {
			const respond = { status: 200, body: { id: 1, status: 'in_some_queue' } };
			sim.fault({ ...onRead, action: { respond } });
		},
		outcome: 'result',
		note: 'it means: not finished yet',
	},
	{
		fault: 'Completed, and the address comes later',
		operations: [SPEAK],
		service: { dialect: { addressDelayMs: 700 } },
		outcome: 'result',
	},
	{
		fault: 'Completed, and the address never comes',
		operations: [SPEAK],
		setting: { options: { timeout: 8 } },
		make: ({ sim }) => {
			const respond = { status: 200, body: { id: 1, status: 'completed' } };
			sim.fault({ ...onRead, ...always, action: { respond } });
		},
		outcome: 'fails',
		says: 'No result after 8 seconds (last known: completed…Speech → Wait with task ID',
		note: 'or, after a minute without it: has not provided the address of its file',
	},
	...(['file:///etc/passwd', 'javascript:alert(1)', 'data:audio/wav;base64,AAAA'] as const).map(
		(audio_url): Row => ({
			fault: `A file address with \`${audio_url.split(':')[0]}:\``,
			operations: [SPEAK],
			setting: { options: { timeout: 8 } },
			make: ({ sim }) => {
				const respond = { status: 200, body: { id: 1, status: 'completed', audio_url } };
				sim.fault({ ...onRead, ...always, action: { respond } });
			},
			outcome: 'fails',
			says: 'No result after 8 seconds (last known: completed',
			note: 'counts as no address',
		}),
	),
	{
		fault: 'Messages precede the create response',
		operations: [SPEAK],
		setting: { text: 'A [sim:messages-first]' },
		outcome: 'result',
	},
	{
		fault: 'Percentages repeat',
		operations: [SPEAK],
		setting: { text: 'A [sim:duplicate-progress]' },
		outcome: 'result',
	},
	{
		fault: 'Percentages go back',
		operations: [SPEAK],
		setting: { text: 'A [sim:backward-progress]' },
		outcome: 'result',
	},
	{
		fault: 'The task is unknown for a moment after its creation',
		operations: [SPEAK],
		make: ({ sim }) => {
			const respond = { status: 404, body: { error: 'not_found' } };
			sim.fault({ ...onRead, action: { respond } });
		},
		outcome: 'result',
	},
	{
		fault: 'An ingress answers 404 with a page for a moment',
		operations: [SPEAK, 'speech:wait'],
		make: ({ sim }) => {
			sim.fault({ ...onRead, times: 2, action: { respond: { status: 404, body: PAGE } } });
		},
		outcome: 'result',
		note: 'several 404s in a row over a minute end the wait',
	},
	{
		fault: 'The task is unknown',
		operations: ['speech:get', 'speech:wait', 'speech:delete'],
		setting: { parameters: { taskId: '4711' } },
		outcome: 'fails',
		says: 'has no task with this ID…4711',
	},
	{
		fault: 'The answer to the deletion is lost',
		operations: ['speech:delete'],
		make: async (stage) => {
			const front = await stage.front();
			front.on(
				'DELETE',
				/./,
				(request, response) => {
					front.pass(request, response);
					const { write, end } = response;
					void [write, end];
					response.writeHead = () => response.destroy() as never;
				},
				1,
			);
		},
		outcome: 'result',
		note: 'gone at the second try counts as deleted',
	},
	{
		fault: 'The callback of the service fails, or lies',
		operations: [SPEAK],
		make: async (stage) => {
			const service = await FakeService.start((_, response) => void response.writeHead(500).end());
			stage.onClose(async () => await service.stop());
			return { options: { callbackUrl: `${service.url}/done` } };
		},
		outcome: 'result',
		note: 'the node reads the task, whatever a callback says',
	},
];

/** Spoken in three parts. */
const LONG = {
	text: 'One goes out to sea. Two stays at home. Three is by the door.',
	options: { splitLongerThan: 24 },
};

const parts: Row[] = [
	{
		fault: 'A part of a long text is refused',
		operations: [SPEAK],
		setting: LONG,
		make: ({ sim }) => {
			const respond = { status: 400, body: { error: 'Not that word' } };
			sim.fault({ ...onCreate, body: 'Two stays', action: { delayMs: 500, respond } });
		},
		outcome: 'fails',
		says: 'Not that word – part 2 of 3…are paid for, as the tasks',
		note: 'all paid tasks are named; a retry collects them',
		sent: 3,
		paid: 2,
	},
	{
		fault: 'A part of a long text is refused, and the node is set to try again',
		operations: [SPEAK],
		setting: { ...LONG, node: { retryOnFail: true, maxTries: 2, waitBetweenTries: 0 } },
		make: (stage) => {
			stage.isOwnFile = true;
			const respond = { status: 400, body: { error: 'Not that word' } };
			stage.sim.fault({ ...onCreate, body: 'Two stays', action: { delayMs: 500, respond } });
		},
		outcome: 'result',
		says: 'at no extra charge',
		note: 'only the missing part is paid',
		sent: 4,
		paid: 3,
	},
	{
		fault: 'The parts of a long text are neither WAV nor MP3',
		operations: [SPEAK],
		setting: LONG,
		make: (stage) => {
			stage.isOwnFile = true;
			const headers = { 'Content-Type': 'audio/ogg' };
			const respond = { status: 200, headers, body: Buffer.from('OggS\0\0\0\0') };
			stage.sim.fault({ on: 'file', ...always, action: { respond } });
		},
		outcome: 'result',
		says: 'could not be joined',
		note: 'one item for each part',
		sent: 3,
		paid: 3,
	},
];

const SUBTITLES = { path: '/files/subtitle', on: 'file', ...always } as const;

const subtitles: Row[] = [
	{
		fault: 'The service makes no subtitles',
		operations: [SPEAK],
		setting: { text: 'A [sim:subtitles=none]', options: { subtitles: true } },
		outcome: 'result',
		note: 'no field, and no hint',
	},
	{
		fault: 'Subtitles have expired',
		operations: [SPEAK, 'speech:wait'],
		setting: { options: { subtitles: true } },
		make: ({ sim }) => sim.fault({ ...SUBTITLES, action: { respond: { status: 410 } } }),
		outcome: 'result',
		says: 'Subtitles could not be downloaded…410',
		note: 'the audio comes out all the same',
	},
	{
		fault: 'A page comes instead of the subtitles',
		operations: [SPEAK],
		setting: { options: { subtitles: true } },
		make: ({ sim }) =>
			sim.fault({ ...SUBTITLES, action: { respond: { status: 200, body: PAGE } } }),
		outcome: 'result',
		says: 'Subtitles could not be downloaded: a web page was returned',
		note: 'the audio comes out all the same',
	},
	{
		fault: 'Some parts of a long text have SRT, others VTT',
		operations: [SPEAK],
		setting: {
			text: 'One goes out to sea. [sim:subtitles=vtt]. Three is by the door.',
			options: { ...LONG.options, subtitles: true },
		},
		make: (stage) => {
			stage.isOwnFile = true;
		},
		outcome: 'result',
		says: 'subtitles of the parts of a speech could not be joined: some are SRT, others VTT',
		note: 'the audio is joined all the same',
		sent: 3,
		paid: 3,
	},
];

const lists: Row[] = [
	dialect('Voices in pages', { voices: 'paged' }, ['voice:getAll']),
	dialect('Voices in pages that all claim to be page 1', { voices: 'paged', pageEcho: 'wrong' }, [
		'voice:getAll',
	]),
	dialect('Traits under `labels`, null or padded', { voiceTraits: 'labels' }, ['voice:getAll']),
	dialect('History in pages', { history: 'paged' }, ['history:getAll']),
	dialect(
		'History with figures as strings and `file_urls`',
		{ history: 'paged', historyFiguresAsStrings: true, historyFiles: 'file_urls' },
		['history:getAll'],
	),
	dialect('An account of balance and credits', { account: 'balance' }, ['account:get']),
	{
		fault: 'The same page for ever',
		operations: ['voice:getAll', 'history:getAll'],
		setting: { parameters: { returnAll: true }, options: { download: false } },
		make: ({ sim }) => {
			const data = Array.from({ length: 100 }, (_, id) => ({ id, voice_id: `v${id}` }));
			const body = { data, total: 1_000_000, page: 1, page_size: 100 };
			sim.fault({ ...onRead, ...always, action: { respond: { status: 200, body } } });
		},
		outcome: 'result',
		check: ({ sim }) => {
			const asked = sim.count('GET', '/v1/');
			if (asked > 2) throw new Error(`${asked} pages were read`);
		},
	},
];

export const SPEECH: Group[] = [
	{ title: 'Speech tasks', rows: tasks },
	{ title: 'Long texts', rows: parts },
	{ title: 'Subtitles', rows: subtitles },
	{ title: 'Voices, history, account', rows: lists },
];
