import { steadyNow } from '../../nodes/shared/async/deadline';
import { Failure } from '../../nodes/shared/failure';
import { readCredential } from '../../nodes/shared/http/credential';
import { knownTasksOf } from '../../nodes/shared/api/knownTasks';
import { generatedBy, generationOriginsOf, originsOf } from '../../nodes/shared/n8n/origins';
import { create, execution, type Execution } from './speakNode';

let count = 0;
/** An account that nothing is known of yet. */
const account = () =>
	readCredential({ apiToken: 'token', baseUrl: `https://media.example.com/${++count}` });

describe('the origin of a task', () => {
	it('is the workflow of its execution, and the one that called that', async () => {
		const address = account();
		await create(address, { workflowId: 'sub', calledBy: 'main' }, async () => '1');
		expect(originsOf(address).of('1')?.workflowIds).toEqual(['sub', 'main']);
		expect(originsOf(account()).of('1')).toBeUndefined();
	});

	it('is not known of a create call that fails, whose error comes out', async () => {
		const address = account();
		const fail = async () => await Promise.reject<string>(new Error('no credit'));
		await expect(create(address, {}, fail)).rejects.toThrow('no credit');
		await originsOf(address).answered('w');
	});

	it.each([
		['trigger', true],
		['webhook', true],
		['manual', false],
	])('says whether executions run in this process, but not by hand: %s', async (mode, here) => {
		const address = account();
		await create(address, { mode }, async () => '1');
		expect(originsOf(address).executedHere.has('w')).toBe(here);
	});

	it('is remembered of ten thousand tasks', async () => {
		const address = account();
		for (let n = 0; n <= 10_000; n++) await create(address, {}, async () => `${n}`);
		expect(originsOf(address).of('0')).toBeUndefined();
		expect(originsOf(address).of('1')).toBeDefined();
	});
});

describe('a create call without a clear answer', () => {
	async function failed(setting: Execution = {}, facts: object = { maybeAccepted: true }) {
		const address = account();
		const fail = async () => await Promise.reject<string>(new Failure('noAnswer', facts));
		await expect(create(address, setting, fail, 'Mine ')).rejects.toThrow('noAnswer');
		return originsOf(address);
	}

	it('is recognised by the text of its task, once', async () => {
		const origins = await failed({ startedBy: '0' });
		const now = steadyNow();
		origins.recognize('other', 'Theirs', now);
		origins.recognize('before', 'Mine', now - 60_000);
		origins.recognize('own', 'Mine', now);
		origins.recognize('again', 'Mine', now);
		for (const id of ['other', 'before', 'again']) expect(origins.of(id)).toBeUndefined();
		expect(origins.of('own')).toMatchObject({ workflowIds: ['w'], depth: 1 });
	});

	it('puts as many later tasks in doubt as there were calls', async () => {
		const origins = await failed();
		const now = steadyNow();
		expect(origins.isDoubtful('elsewhere', 'v', now)).toBe(false);
		expect(origins.isDoubtful('before', 'w', now - 60_000)).toBe(false);
		expect(origins.isDoubtful('first', 'w', now)).toBe(true);
		expect(origins.isDoubtful('second', 'w', now)).toBe(false);
		expect(origins.isDoubtful('first', 'w', now)).toBe(true);
	});

	it('of another workflow counts where a task has started that', async () => {
		const origins = await failed({ startedBy: '0' });
		expect(origins.isDoubtful('first', 'v', steadyNow())).toBe(true);
	});

	it('is forgotten after an hour, and not kept where it surely was not accepted', async () => {
		const refused = await failed({}, {});
		expect(refused.isDoubtful('first', 'w', steadyNow())).toBe(false);
		const origins = await failed();
		const later = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_700_000);
		expect(origins.isDoubtful('first', 'w', steadyNow())).toBe(false);
		later.mockRestore();
	});
});

describe('what is known of the tasks of an account', () => {
	it('tells a message from one that repeats what a task has said that has ended', () => {
		const known = knownTasksOf(account());
		const heard = [21, 21, 100, 100, 43, undefined].map((percentage) =>
			known.hear('1', percentage),
		);
		expect(heard).toEqual([true, true, true, false, false, false]);
	});

	it('lets the first message of a task through whose end was read before', () => {
		const known = knownTasksOf(account());
		known.end('1');
		expect([known.hear('1', 100), known.hear('1', 100)]).toEqual([true, false]);
		known.hear('2', 43);
		known.end('2');
		expect(known.hear('2', 43)).toBe(false);
	});

	it('is bounded, and keeps what is heard of again and again', () => {
		const known = knownTasksOf(account());
		known.hear('often', 100);
		for (let n = 0; n < 60_000; n++) {
			known.hear(`${n}`, 100);
			if (n % 1000 === 0) known.hear('often', 100);
		}
		expect(known.endedAt('often')).toBeDefined();
		expect(known.endedAt('0')).toBeUndefined();
		expect(known.endedAt('59999')).toBeDefined();
	});
});

describe('the origin of a video', () => {
	const ADDRESS = 'https://files.example.com/1.mp4';
	const file = (id?: string) => ({ id, fileUrl: `${ADDRESS}?sig=a`, fields: {} });
	const order = { prompt: 'A paper boat', expected: 2 };

	it('is known by its id and by its address, and no task is taken for it', async () => {
		const address = account();
		await generatedBy(execution(), address, async () => [file('1')], order);
		const origins = generationOriginsOf(address);
		for (const name of ['1', file().fileUrl, ADDRESS]) {
			expect(origins.of(name)?.workflowIds).toEqual(['w']);
		}
		expect(originsOf(address).of('1')).toBeUndefined();
	});

	it('is told by its prompt where its stream was lost, for as many as were asked for', async () => {
		const address = account();
		const lost = async () => await Promise.reject(new Failure('streamLost'));
		await generatedBy(execution(), address, lost, order).catch(() => {});
		const origins = generationOriginsOf(address);
		for (const name of ['1', '2', '3']) origins.recognize(name, order.prompt, steadyNow());
		const own = ['1', '2', '3'].filter((name) => origins.of(name) !== undefined);
		expect(own).toEqual(['1', '2']);
	});

	it('is awaited by its prompt while it is in the making', async () => {
		const address = account();
		const origins = generationOriginsOf(address);
		let end = (_: never[]) => {};
		const files = new Promise<never[]>((resolve) => (end = resolve));
		const making = generatedBy(execution(), address, async () => await files, order);
		expect(origins.isAwaited('w', ' A paper boat')).toBe(true);
		expect(origins.isAwaited('w', '')).toBe(true);
		expect(origins.isAwaited('w', 'Another')).toBe(false);
		expect(origins.isAwaited('other', order.prompt)).toBe(false);
		end([]);
		await making;
		expect(origins.isAwaited('w', order.prompt)).toBe(false);
	});
});
