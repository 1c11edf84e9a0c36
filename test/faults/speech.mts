import assert from 'node:assert/strict';
import { FakeService } from '../service/fakeService.mts';
import { wordsOfFailure } from './check.mts';
import { always, answer, dialect, on, RETRY, row, SPEAK, type Row } from './row.mts';

const TASKS = [SPEAK, 'speech:get', 'speech:wait'] as const;

const SCRIPT = { id: 1, status: 'completed', audio_url: 'javascript:alert(1)' };

const MESSAGES = [
	['Messages precede the create response', 'messages-first'],
	['Percentages repeat', 'duplicate-progress'],
	['Percentages go back', 'backward-progress'],
] as const;

const tasks: Row[] = [
	dialect('The audio URL is called `result`', TASKS, { audioField: 'result' }),
	dialect('The audio URL is an object', TASKS, { audioField: 'nested' }),
	dialect('The audio URL is a relative path', TASKS, { relativeAudioUrl: true }),
	dialect('IDs are UUIDs', TASKS, { taskId: 'uuid' }),
	dialect('The create response calls the ID `id`', [SPEAK], { createIdField: 'id' }),
	dialect('Status words in capitals', TASKS, { statusCase: 'UPPER' }),
	...(['error', 'failed', 'cancelled', 'canceled'] as const).map((failureWord): Row => ({
		fault: `The task fails with \`${failureWord}\`, and the WebSocket says nothing`,
		operations: [SPEAK],
		service: { dialect: { failureWord, statusCase: failureWord === 'failed' ? 'UPPER' : 'lower' } },
		setting: { text: 'A [sim:task-fails]' },
		fails: 'could not generate the speech: Speech synthesis failed – task …',
	})),
	...(
		[
			['message', 'its reason in `message`', ': Speech synthesis failed'],
			['none', 'no reason', ''],
		] as const
	).map(([failureField, where, reason]): Row => ({
		fault: `The task fails with ${where}`,
		operations: [SPEAK],
		service: { dialect: { failureField } },
		setting: { text: 'A [sim:task-fails]' },
		fails: `could not generate the speech${reason} – task …`,
	})),
	row('An unknown status', [SPEAK, 'speech:wait'], {
		faults: [{ ...on.read, ...answer(200, { id: 1, status: 'in_some_queue' }) }],
		note: 'it counts as “not finished yet”',
	}),
	row('An unknown status until the **Timeout** is over', [SPEAK, 'speech:wait'], {
		setting: { options: { timeout: 2 } },
		faults: [{ ...on.read, ...always, ...answer(200, { id: 1, status: '{token} is busy' }) }],
		fails: 'No result after 2 seconds',
	}),
	row('A task that fails with a reason', [SPEAK, 'speech:wait'], {
		faults: [{ ...on.read, ...always, ...answer(200, { id: 1, status: 'error', error: 'busy' }) }],
		fails: 'could not generate the speech: busy',
	}),
	row('The task is completed, and its URL appears later', [SPEAK], {
		setting: { text: 'Late [sim:late-address=70]' },
	}),
	row('The task is completed, but its URL never appears', [SPEAK], {
		setting: { options: { timeout: 8 } },
		faults: [{ ...on.read, ...always, ...answer(200, { id: 1, status: 'completed' }) }],
		fails: 'No result after 8 seconds (last known status: completed…Speech → Collect with task ID',
		note: 'after a minute without the URL, the message is “its audio is not available yet”',
	}),
	row('A file URL with `javascript:`', [SPEAK], {
		setting: { options: { timeout: 8 } },
		faults: [{ ...on.read, ...always, ...answer(200, SCRIPT) }],
		fails: 'No result after 8 seconds (last known status: completed',
		note: 'the node ignores it',
	}),
	...MESSAGES.map(([fault, word]) =>
		row(fault, [SPEAK], {
			setting: { text: `A [sim:${word}]` },
		}),
	),
	row('The task is unknown for a moment after its creation', [SPEAK, 'speech:wait'], {
		faults: [{ ...on.read, times: 5, ...answer(404, { error: 'task_not_found' }) }],
		note: 'the wait ends once such 404s have lasted ten seconds; a web page counts as a temporary outage',
	}),
	row('The task is unknown', ['speech:get', 'speech:wait', 'speech:delete'], {
		setting: { parameters: { taskId: '4711' } },
		fails: 'has no task with this ID…4711',
	}),
	row("The service's callback fails, or is untrue", [SPEAK], {
		make: async (stage) => {
			const receiver = await FakeService.start((_, response) => response.writeHead(500).end());
			stage.onClose(() => void receiver.stop());
			return { options: { callbackUrl: `${receiver.url}/done` } };
		},
		note: 'the node relies on the task, not on the callback',
	}),
];

/** A text that is split into three parts. */
const LONG = {
	text: 'One goes out to sea. Two stays at home. Three is by the door.',
	options: { splitLongerThan: 24 },
};
const REFUSED_PART = {
	...on.create,
	body: 'Two stays',
	action: { delayMs: 500, ...answer(400, { error: 'Not that word' }).action },
};

const parts: Row[] = [
	row('A part of a long text is refused', [SPEAK], {
		setting: LONG,
		faults: [REFUSED_PART],
		fails: `Not that word – part 2 of 3…To get the paid parts…at no extra charge, use Speech → Collect with these IDs: tasks …`,
		check: ({ sim }, result) => {
			for (const id of sim.tasks.keys()) assert.ok(wordsOfFailure(result).includes(id));
		},
		sent: 3,
		paid: 2,
	}),
	row('A part of a long text is refused, and Retry On Fail is on', [SPEAK], {
		setting: { ...LONG, node: RETRY },
		faults: [REFUSED_PART],
		isOwnFile: true,
		hints: 'at no extra charge',
		note: 'only the missing part is charged',
		sent: 4,
		paid: 3,
	}),
	row('The disk is full when the parts of a long text are joined', [SPEAK], {
		setting: LONG,
		make: (stage) => stage.fillDisk(3),
		fails: 'ENOSPC…with these IDs: tasks',
		sent: 3,
		paid: 3,
	}),
	row('The parts of a long text are neither WAV nor MP3', [SPEAK], {
		setting: LONG,
		faults: [
			{ ...on.file, ...always, ...answer(200, 'OggS\0\0\0\0', { 'Content-Type': 'audio/ogg' }) },
		],
		isOwnFile: true,
		hints: 'could not be joined',
		note: 'one item for each part',
		sent: 3,
		paid: 3,
	}),
];

const onSubtitles = { ...on.file, ...always, path: '/files/subtitle' };

const subtitles: Row[] = [
	row('The service provides no subtitles', [SPEAK], {
		setting: { text: 'A [sim:subtitles=none]', options: { subtitles: true } },
		note: 'there is neither a field nor a hint',
	}),
	row('Subtitles have expired', [SPEAK, 'speech:wait'], {
		setting: { options: { subtitles: true } },
		faults: [{ ...onSubtitles, ...answer(410) }],
		hints: 'Subtitles could not be downloaded…410',
		note: 'the audio comes out anyway',
	}),
];

const lists: Row[] = [
	dialect('Traits are under `labels`, null or padded with spaces', ['voice:getAll'], {
		voiceTraits: 'labels',
	}),
	dialect(
		'A page of voices says how many there are, and that it is the first one',
		['voice:getAll'],
		{
			voices: 'paged',
			pageEcho: 'wrong',
		},
	),
	dialect('The account has a balance instead of a quota', ['account:get'], { account: 'balance' }),
	dialect('Entries of the history do not say of what kind they are', ['history:getAll'], {
		itemType: 'none',
	}),
	dialect('The history has numbers as strings, and `file_urls`', ['history:getAll'], {
		history: 'paged',
		historyNumbersAsStrings: true,
		historyFiles: 'file_urls',
	}),
	row('The service returns the same page again and again', ['voice:getAll', 'history:getAll'], {
		setting: { parameters: { returnAll: true }, options: { download: false } },
		faults: [
			{
				...on.read,
				...always,
				...answer(200, {
					data: Array.from({ length: 100 }, (_, id) => ({ id, voice_id: `v${id}` })),
					total: 1_000_000,
					page: 1,
					page_size: 100,
				}),
			},
		],
		check: ({ sim }) => assert.ok(sim.countRequests('GET', '/v1/') <= 2),
	}),
];

export const SPEECH = [
	{ title: 'Speech tasks', rows: tasks },
	{ title: 'Long texts', rows: parts },
	{ title: 'Subtitles', rows: subtitles },
	{ title: 'Voices, history, account', rows: lists },
];
