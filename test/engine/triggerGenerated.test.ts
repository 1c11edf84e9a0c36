import type { IDataObject, IRun } from 'n8n-workflow';
import type { HistoryItem } from '../../simulator/simulator.mts';
import { logged, removeLog } from '../faults/log.mts';
import { ALWAYS, answer, made, message, onFile, onHistory, onRead } from './service';
import { fakeTime, sim, video } from './setup';
import { hasten, pass, passUntil, passWhile } from './time';
import { activate, type ActiveTrigger, listenByHand, type TriggerSetting } from './triggerSetup';

/* New entries of the history start workflows. Time is made to pass: the history is read once a minute. */

const INTERVAL_SECONDS = 60;

const idsOf = ({ started }: ActiveTrigger) =>
	started.map(({ item: { json } }) => `${json.event} ${json.id}`);

beforeEach(fakeTime);
afterAll(removeLog);

let entries = 0;
/** Somebody else has made something: puts it into the history. */
function add(changes: Partial<HistoryItem> = {}): HistoryItem {
	const id = changes.id ?? `item-${++entries}`;
	const item = made(id, { created_at: new Date().toISOString(), ...changes });
	sim.history.unshift(item);
	return item;
}

/** A trigger for entries of the history, and nothing else. Readings that follow one another take time. */
const follow = async (
	options: IDataObject = {},
	setting: TriggerSetting = {},
	download = false,
) => {
	const parameters = { events: ['generated'], download, options };
	return await passWhile(activate({ parameters, ...setting }));
};

/** Until the history has been read once more, and files downloaded. */
const nextLook = async () => await pass(INTERVAL_SECONDS + 5);

describe('a new video', () => {
	it('starts one execution with its fields and address, and what was there before none', async () => {
		for (let n = 0; n < 30; n++) add();
		const trigger = await follow();
		await pass(INTERVAL_SECONDS);
		expect(trigger.started).toEqual([]);
		const { owner: _, ...item } = add();
		await pass(2 * INTERVAL_SECONDS);
		expect(trigger.started.map((one) => one.item)).toEqual([
			{ json: { ...item, event: 'generated' } },
		]);
	});

	it('is told, each once, where pages have ten entries whatever is asked for', async () => {
		for (const page of [1, 2, 3, 4, 5]) {
			onHistory(
				{ redirect: `/v1/video/histories?page=${page}&page_size=10` },
				{ path: new RegExp(`page=${page}&page_size=100`), ...ALWAYS },
			);
		}
		for (let n = 0; n < 30; n++)
			add({ created_at: new Date(Date.now() - 3_600_000).toISOString() });
		const trigger = await follow();
		await pass(INTERVAL_SECONDS);
		const added = Array.from({ length: 12 }, () => add());
		await pass(2 * INTERVAL_SECONDS);
		// What moves up to the first page is not new.
		sim.history.splice(0, 20);
		await pass(2 * INTERVAL_SECONDS);
		expect(idsOf(trigger)).toEqual(added.map(({ id }) => `generated ${id}`));
	});

	it('brings only a file along that is in the history itself where none is asked for', async () => {
		const trigger = await follow();
		const inline = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==';
		const other = `${sim.fileOrigin}/files/other.png`;
		add({ type: 'image', file_url: undefined, file_urls: [other, inline] } as object);
		await nextLook();
		expect(Object.keys(trigger.started[0]!.item.binary!)).toEqual(['data']);
		expect(sim.requests.filter(({ receivedBy }) => receivedBy === 'file')).toEqual([]);
	});

	it('brings its file along where asked to', async () => {
		await hasten(video('A real file', {}, { download: false }));
		const [item] = sim.history.splice(0);
		const trigger = await follow({ outputField: 'clip' }, {}, true);
		sim.history.unshift(item!);
		await nextLook();
		const { clip } = trigger.started[0]!.item.binary!;
		expect(clip).toMatchObject({ fileName: `video-${item!.id}.mp4`, mimeType: 'video/mp4' });
		const served = sim.fileBytes(item!.file_url)!;
		expect(served.equals(Buffer.from(clip!.data, 'base64'))).toBe(true);
		expect(sim.leaks).toEqual([]);
	});

	it('is told when it has its file, and one that fails by its id where failures are wanted', async () => {
		const both = await follow({}, { parameters: { events: ['generated', 'failed'] } });
		const one = await follow();
		const good = add({ file_url: '', status: 'processing', success: false } as never);
		const bad = add({ file_url: '', status: 'processing' });
		await pass(2 * INTERVAL_SECONDS);
		expect(both.started).toEqual([]);
		good.file_url = `${sim.fileOrigin}/files/video/good.mp4`;
		bad.status = 'MEDIA_GENERATION_STATUS_FILTERED';
		await pass(2 * INTERVAL_SECONDS);
		expect(idsOf(one)).toEqual([`generated ${good.id}`]);
		expect(idsOf(both).sort()).toEqual([`failed ${bad.id}`, `generated ${good.id}`].sort());
		const kinds = both.started.map(({ item }) => item.json.error_kind);
		expect(kinds.filter(Boolean)).toEqual(['moderation']);
	});

	it('tells no part of the token where the reason of a failure is too long', async () => {
		const trigger = await follow({}, { parameters: { events: ['generated', 'failed'] } });
		// The text is cut within the token, wherever that is.
		const fillers = Array.from({ length: 15 }, (_, n) => 'x'.repeat(470 + 2 * n));
		for (const filler of fillers) {
			add({ file_url: '', status: 'failed', error: filler + sim.token } as Partial<HistoryItem>);
		}
		await pass(2 * INTERVAL_SECONDS);
		expect(trigger.started).toHaveLength(fillers.length);
		const reported = JSON.stringify(trigger.started.map(({ item }) => item.json));
		expect(reported).not.toContain(sim.token.slice(0, 5));
		expect(trigger.started[0]!.item.json.error).toMatch(/^x{470}/);
	});
});

it('what comes at once is told 100 ms apart, because n8n would start some in another order', async () => {
	const times: number[] = [];
	const execute = async () => {
		times.push(Date.now());
		return {} as IRun;
	};
	await follow({}, { execute });
	for (let n = 0; n < 5; n++) add();
	await nextLook();
	const pauses = times.slice(1).map((time, n) => time - times[n]!);
	expect(pauses).toEqual(Array(4).fill(100));
});

it('what was found in the history is saved also when a task starts an execution', async () => {
	const events = ['completed', 'generated'];
	const trigger = await follow({}, { parameters: { events, download: false } });
	add({ file_url: '', status: 'processing' });
	await nextLook();
	onRead(answer(200, { status: 'completed', audio_url: '/a.wav' }), ALWAYS);
	sim.broadcast(message('1', 100));
	await passUntil(() => trigger.started.length === 1);
	expect(JSON.stringify(trigger.saved())).toContain('seenAt');
});

it('what nobody listened for is not told by a later activation that listens for it', async () => {
	const setting = { nodeId: 'unwanted' };
	const failed = { file_url: '', status: 'MEDIA_GENERATION_STATUS_FILTERED' };
	const before = await follow({}, setting);
	add(failed);
	await nextLook();
	await before.close();
	const after = await follow({}, { ...setting, parameters: { events: ['generated', 'failed'] } });
	const { id } = add(failed);
	await nextLook();
	expect(idsOf(after)).toEqual([`failed ${id}`]);
});

it('what came while n8n was away is told after a restart, though nothing was told before it', async () => {
	add();
	const before = await follow();
	const { id } = add();
	const after = await follow({}, { staticData: before.saved() });
	await nextLook();
	expect(idsOf(after)).toEqual([`generated ${id}`]);
});

it('of two workflows after a restart, the second misses nothing that moves to page 2 while they read', async () => {
	const before = await follow();
	await before.close();
	await pass(5);
	const added = Array.from({ length: 150 }, () => `generated ${add().id}`);
	const parameters = { events: ['generated'], download: false };
	const restart = async () => await activate({ parameters, staticData: before.saved() });
	// The first reads page 2 two seconds later. By then, its page 1 is too old to be shared with the second.
	onHistory({ delayMs: 2000 }, { path: /page=1&/, times: 1 });
	void restart();
	await pass(3);
	added.push(`generated ${add().id}`);
	await pass(1);
	const [second] = await Promise.all([restart(), pass(30)]);
	expect(idsOf(second)).toEqual(added);
});

it('what came while the history could not be read is told afterwards, and the log names each time once', async () => {
	const trigger = await follow();
	const added: string[] = [];
	for (const times of [1, 2]) {
		onHistory(answer(500), ALWAYS);
		added.push(`generated ${add().id}`);
		await pass(3 * INTERVAL_SECONDS);
		expect(idsOf(trigger)).toHaveLength(times - 1);
		sim.clearFaults();
		await nextLook();
		expect((await logged()).split("the history can't be read")).toHaveLength(times + 1);
	}
	expect(idsOf(trigger)).toEqual(added);
});

it('a workflow that is unpublished while the history is read leaves no warning', async () => {
	const trigger = await follow();
	const before = await logged();
	onHistory({ hang: true }, ALWAYS);
	await pass(INTERVAL_SECONDS);
	await trigger.close();
	await pass(5);
	expect((await logged()).slice(before.length)).not.toMatch(/can't be read/);
});

it('a service that has no history ends the activation', async () => {
	onHistory(answer(404, { error: 'not_found' }), ALWAYS);
	await expect(follow()).rejects.toThrow('does not know this URL');
});

it('a token in an entry of the history is in no item, and nowhere in what n8n keeps', async () => {
	const trigger = await follow();
	add({ id: sim.token, prompt: `Not with ${sim.token}`, file_url: `/${sim.token}/a.mp4` });
	await nextLook();
	expect(trigger.started).toHaveLength(1);
});

it('by hand, the newest video that has its file is shown at once', async () => {
	for (let n = 0; n < 3; n++) add();
	const { id } = add();
	add({ file_url: '', status: 'processing' });
	const listening = await listenByHand({ parameters: { events: ['generated'] } });
	void listening.start();
	expect((await listening.first)!.json).toMatchObject({ event: 'generated', id });
});

it('by hand, a person is told at once that the history can’t be read', async () => {
	onHistory(answer(500), ALWAYS);
	const listening = await listenByHand({ parameters: { events: ['generated'] } });
	await expect(passWhile(listening.start())).rejects.toThrow(/HTTP 500/);
	await listening.close();
});

it('by hand, a file that takes its time is fetched once', async () => {
	await hasten(video('A slow file', {}, { download: false }));
	onFile({ delayMs: 20_000 }, ALWAYS);
	const options = { checkInterval: 10 };
	const parameters = { events: ['generated'], download: true, options };
	const listening = await listenByHand({ parameters });
	void listening.start();
	expect((await passWhile(listening.first))!.json.error).toBeUndefined();
	expect(sim.countRequests('GET', '/files/')).toBe(1);
});
