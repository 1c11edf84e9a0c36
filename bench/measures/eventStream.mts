import { COLUMNS, row, type Table } from '../figures.mts';
import { compare, line } from '../run.mts';
import type { Arena, Entrant, Setting } from '../setting.mts';

const MEBIBYTE = 1024 ** 2;
const STREAM_MIB = 64;
const ROUNDS = 3;
const EVENT = 'event: video_generation_status\ndata: "processing"\n\n';

const rate = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} MiB/s`;

/** How fast a generation's event stream is read. */
export async function measureEventStream(
	{ simulator, client }: Setting,
	{ entrants: { ours, handBuilt } }: Arena<'ours' | 'handBuilt'>,
): Promise<Table> {
	// A video that is there already: the stream ends with its address.
	const prompt = line('[sim:slow=0]');
	await client.contender.make('video', [prompt]);
	await client.contender.clear('video');
	const [result] = client.account.results('video', [prompt]);
	const item = { id: 'video', prompt, file_url: result!.address, status: 'completed' };
	const end = `event: video_generation_complete\ndata: ${JSON.stringify([item])}\n\n`;
	const many = Buffer.from(EVENT.repeat(Math.ceil(MEBIBYTE / EVENT.length)));
	const events = Math.floor((STREAM_MIB * many.length) / EVENT.length);

	/** Bytes of the stream per second until `read` is through with it. */
	const measured = async (read: () => Promise<unknown>): Promise<number> => {
		const sse = [...Array.from({ length: STREAM_MIB }, () => many), end, 'END' as const];
		simulator.fault({ method: 'POST', path: '/v1/video/text-to-video', action: { sse } });
		const began = Date.now();
		await read();
		return (STREAM_MIB * many.length) / MEBIBYTE / ((Date.now() - began) / 1000);
	};
	const of = async ({ contender }: Entrant): Promise<number> => {
		const found = await measured(() => contender.make('video', [line('')]));
		const { files, errors } = await contender.made('video');
		if (errors.length > 0) throw new Error(`${contender.name}: ${errors.join('; ')}`);
		await compare(contender.name, files, [result!]);
		await contender.clear('video');
		return found;
	};
	const best = [0, 0, 0];
	for (let round = 0; round < ROUNDS; round++) {
		for (const [index, entrant] of [ours, handBuilt, client].entries()) {
			best[index] = Math.max(best[index]!, await of(entrant));
		}
	}
	return {
		title: 'A stream of very many events',
		about:
			`A video whose stream has ${events.toLocaleString('en')} status events, ${STREAM_MIB} MiB, ` +
			`before the one that counts; more is better, the best of ${ROUNDS} is shown. The MiniMax API has ` +
			'no event streams. The plain client parses every event with eventsource-parser.',
		columns: COLUMNS,
		rows: [row('read per second', [best[0]!, best[1]!, '–', best[2]!], rate)],
	};
}
