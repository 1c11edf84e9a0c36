/* What the service did when the node asked for something that costs. */
import { PAID } from './operations.mts';
import type { Outcome } from './recording.mts';
import type { Row } from './report.mts';
import { isStream, textOf, type Exchange } from './wire.mts';

const PARTS: Record<string, [part: string, path: RegExp]> = {
	speech: ['§4.1–4.2 Speech', /\/v1\/labs\/task$/],
	image: ['§4.8 Image', /\/create-image$/],
	video: ['§4.5 Video from text', /\/text-to-video$/],
	ingredients: ['§4.6 Video from images', /\/ingredients-to-video$/],
	frames: ['§4.7 Video from frames', /\/frames-to-video$/],
	dropped: ['§6.1 A dropped stream', /\/create-image$/],
};

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const unique = (words: string[]) => [...new Set(words)];

function recordOf(exchange: Exchange | undefined): Record<string, unknown> {
	try {
		const json = JSON.parse(textOf(exchange!)) as { data?: object };
		return { ...json.data, ...json };
	} catch {
		return {};
	}
}

/** One row for each operation, tried or not, and for what the trigger and Collect made of it. */
export function paidRows(exchanges: Exchange[], outcomes: Outcome[], pay: string[]): Row[] {
	const ofNode = exchanges.filter(({ by }) => by === 'node');
	const tried = outcomes.filter(({ operation }) => Object.hasOwn(PAID, operation));
	const rows = tried.map((outcome): Row => {
		const { operation: name } = outcome;
		const [part, path] = PARTS[name]!;
		const calls = ofNode.filter((each) => each.method === 'POST' && path.test(each.path));
		const call = name === 'dropped' ? calls.at(-1) : calls[0];
		const said = name === 'speech' ? saidOfSpeech(call, ofNode) : saidOfStream(call);
		return { part, ...foundIn(said, outcome), ...resultOf(outcome) };
	});
	for (const [name, part] of [
		['collect', 'Collect'],
		['trigger', 'The trigger'],
	] as const) {
		const outcome = outcomes.find(({ operation }) => operation === name);
		if (outcome) rows.push({ part, found: 'there', differs: '', ...resultOf(outcome) });
	}
	const left = Object.keys(PAID).filter(
		(name) => !tried.some(({ operation }) => operation === name),
	);
	const notTried = { found: 'not tried', grade: 'works' } as const;
	if (left.length > 0) {
		const isVoiceless = pay.includes('speech') && left.includes('speech');
		const why = isVoiceless ? 'without a voice there is no speech' : 'each costs';
		rows.push({
			...notTried,
			part: '§4.1, 4.5–4.8, 6.1',
			differs: `${left.join(', ')}: ${why}`,
			inN8n: '--pay, see docs/check.md',
		});
	}
	rows.push({
		...notTried,
		part: '§4.3, 6.3 Delete, callback',
		differs: '',
		inN8n: 'no other operation needs them',
	});
	return rows;
}

function foundIn(said: string[], { lines }: Outcome): Pick<Row, 'found' | 'differs'> {
	const isDifferent = said.some((text) => /called|no stream|unknown|address is/.test(text));
	const failed = lines.some((line) => line.startsWith('error: '));
	return {
		found: failed ? 'not there' : isDifferent ? 'different' : 'there',
		differs: said.join('; '),
	};
}

function resultOf({ lines }: Outcome): Pick<Row, 'inN8n' | 'grade'> {
	const shown = lines.filter((line) => /^(?:error|hint|file|event): /.test(line));
	const isBad = lines.some((line) => line.startsWith('error: ')) || lines.length === 0;
	return {
		inN8n: shown.join('; ') || lines[0] || 'nothing was heard',
		grade: isBad ? 'limits' : 'works',
	};
}

function saidOfSpeech(create: Exchange | undefined, exchanges: Exchange[]): string[] {
	if (!create) return ['never sent'];
	const answer = recordOf(create);
	const idName = ['task_id', 'id'].find((name) => answer[name] !== undefined);
	const id = String(answer[idName ?? ''] ?? '');
	const reads = exchanges.filter(
		({ method, path }) => method === 'GET' && path.endsWith(`/task/${id}`),
	);
	const words = unique(reads.map((read) => String(recordOf(read).status)));
	const ready = reads.find((read) => addressIn(recordOf(read)));
	const last = recordOf(ready);
	const name = addressIn(last);
	const done = reads.find((read) =>
		/^(?:completed|done|succeeded|success)$/i.test(String(recordOf(read).status)),
	);
	const messages = exchanges
		.filter(({ method }) => method === 'WEBSOCKET')
		.flatMap(({ at, pieces }) => pieces.map(({ ms, text = '' }) => ({ at: at + ms, text })))
		.filter(({ text }) => text.includes(id));
	const steps = messages.map(({ text }) => /percentage"\s*:\s*"?(\d+)/.exec(text)?.[1] ?? '?');
	return [
		`created in ${seconds(create.pieces.at(-1)?.ms ?? 0)}`,
		idName === 'task_id' ? '' : `the ID is called \`${idName ?? 'nothing'}\``,
		`status: ${words.join(', ')}`,
		name === undefined ? 'no address came' : `address after ${seconds(ready!.at - create.at)}`,
		typeof last[name ?? ''] === 'object' ? 'the address is within an object' : '',
		/^\//.test(String(last[name ?? ''])) ? 'the address is a path' : '',
		name === undefined || name === 'audio_url' ? '' : `audio addresses are called \`${name}\``,
		done && ready && done !== ready ? `${seconds(ready.at - done.at)} after “completed”` : '',
		messages.length > 0
			? `messages: first after ${seconds(messages[0]!.at - create.at)}, ${steps.join(', ')} %`
			: 'no message on the WebSocket',
		Object.keys(last).some((key) => /subtitle/.test(key)) ? 'with subtitles' : 'no subtitles',
	].filter(Boolean);
}

/** The name of the field that holds the audio's address. */
function addressIn(record: Record<string, unknown>): string | undefined {
	return ['audio_url', 'result', 'file_url', 'url'].find((name) => {
		const value = record[name];
		return typeof value === 'object' ? value !== null : Boolean(value);
	});
}

function saidOfStream(call: Exchange | undefined): string[] {
	if (!call) return ['never sent'];
	const type = call.headers['content-type'] ?? 'no type';
	if (!isStream(call))
		return [
			`no stream but HTTP ${call.status}, ${type}, after ${seconds(call.pieces.at(-1)?.ms ?? 0)}`,
		];
	const events: string[] = [];
	let name = '';
	for (const { ms, text = '' } of call.pieces) {
		for (const line of text.split(/\r?\n/)) {
			const [, field, value = ''] = /^(event|data): ?(.*)$/.exec(line) ?? [];
			if (field === 'event') name = value;
			if (field !== 'data') continue;
			const [word = ''] = /^"?[\w ]{1,40}"?$|(?<=^\{"status": ?")\w+(?="\}$)/.exec(value) ?? [];
			events.push(`${name || 'no name'} ${word.replaceAll('"', '')} after ${seconds(ms)}`);
		}
	}
	const ends = events.some((event) => /_complete\b|^error/.test(event));
	return [
		`events: ${events.join(', ') || 'none'}`,
		ends || call.broke ? '' : 'an end of unknown name',
		call.broke ? `then ${call.broke}` : '',
	].filter(Boolean);
}
