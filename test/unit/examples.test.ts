import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { INode, IWorkflowBase } from 'n8n-workflow';

/* The example workflows, as files that people import. */

const folder = join(__dirname, '../../examples');
const EMPTY = { __rl: true, mode: 'list', value: '' };
interface Note {
	content: string;
	/** Pixels. */
	width: number;
	height: number;
}

/** Whether a voice is to be chosen from the list, rather than given by an expression. */
const isChosen = ({ voiceId }: INode['parameters']) =>
	(voiceId as typeof EMPTY | undefined)?.mode === 'list';

/** How many pixels a note needs, by what the editor was seen to give to a line, and a wide letter. */
function heightOf(content: string, width: number): number {
	const [, ...lines] = content.split('\n').filter(Boolean);
	const pixels = (line: string) => line.replaceAll('**', '').length * 6.8;
	const heights = lines.map((line) => 8 + 19 * Math.ceil(pixels(line) / (width - 26)));
	return heights.reduce((sum, each) => sum + each, 58);
}

const names = readdirSync(folder).filter((file) => file.endsWith('.json'));

describe.each(names)('%s', (name) => {
	const text = readFileSync(join(folder, name), 'utf8');
	const workflow = JSON.parse(text) as IWorkflowBase;
	const { nodes, connections } = workflow;
	const ours = nodes.filter(({ type }) => type.startsWith('n8n-nodes-media-generation.'));

	it('has an id with which n8n keeps what a trigger remembers', () => {
		// n8n saves no static data of a workflow with a longer one (2.41).
		expect(workflow.id).toMatch(/^example[A-Za-z]{1,14}$/);
	});

	it('says what it does, and first what is to be chosen in which node', () => {
		const [note, ...others] = nodes.filter(({ type }) => type.endsWith('.stickyNote'));
		expect(others).toEqual([]);
		const content = String(note!.parameters.content);
		const [title, , choose = ''] = content.split('\n');
		expect(title).toMatch(/^## .+/);
		expect(choose).toMatch(/^\*\*Choose first:\*\* /);
		const ready = ours.filter(({ type }) => !type.endsWith('Tool')).map(({ name: each }) => each);
		for (const each of ready) expect(choose).toContain(`**${each}**`);
		expect(choose.includes('a voice')).toBe(ours.some(({ parameters }) => isChosen(parameters)));
		expect(choose.includes('a folder')).toBe(text.includes('.n8n-files/'));
		const named = [...choose.slice(17).matchAll(/\*\*([^*:]+)\*\*/g)].map(([, name]) => name);
		expect(nodes.map(({ name }) => name)).toEqual(expect.arrayContaining(named));
	});

	it('has a note that fits its sheet, and names no path that its reader can’t know', () => {
		const note = nodes.find(({ type }) => type.endsWith('.stickyNote'))!;
		const { content, width, height } = note.parameters as unknown as Note;
		const needed = heightOf(content, width);
		expect(needed).toBeLessThanOrEqual(height);
		expect(needed).toBeGreaterThan(height - 40);
		expect(content).not.toMatch(
			/\.(json|md|m?ts)\b|\b(docs|examples)\/|n8n was started|home folder/,
		);
	});

	it('keeps nothing that only the simulated service knows', () => {
		// The feed is made of what others have stored.
		expect(ours.length > 0 || name === 'feed.json').toBe(true);
		for (const { credentials, parameters } of ours) {
			expect(credentials).toBeUndefined();
			if (isChosen(parameters)) expect(parameters.voiceId).toEqual(EMPTY);
		}
	});

	it('has every node connected, by a name and an id of its own', () => {
		const of = (key: 'id' | 'name') => nodes.map((node: INode) => node[key]);
		expect(new Set(of('id')).size).toBe(nodes.length);
		expect(new Set(of('name')).size).toBe(nodes.length);
		const targets = Object.values(connections).flatMap((byType) =>
			Object.values(byType).flatMap((branches) =>
				branches.flatMap((branch) => (branch ?? []).map(({ node }) => node)),
			),
		);
		const connected = new Set([...targets, ...Object.keys(connections)]);
		const working = nodes.filter(({ type }) => !type.endsWith('.stickyNote'));
		expect([...connected].sort()).toEqual(working.map(({ name: each }) => each).sort());
		// A sub-node of an agent hands on what it is, and has nothing before it.
		const begins = working.filter(({ name: each }) => !targets.includes(each));
		expect(begins.every(({ type }) => /Trigger$|Tool$|lmChat|outputParser/.test(type))).toBe(true);
	});

	it('can be imported: not published, and with no data of somebody', () => {
		expect(workflow.active).toBe(false);
		expect(workflow.pinData).toEqual({});
		expect(text).not.toMatch(/versionId|"meta"|shared/);
	});
});

it('their ids and names differ', () => {
	const all = names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
	for (const key of ['id', 'name'])
		expect(new Set(all.map((each) => each[key])).size).toBe(names.length);
});
