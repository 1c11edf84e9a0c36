import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { INode, IWorkflowBase } from 'n8n-workflow';

/* The example workflows, as files that people import. */

const folder = join(__dirname, '../../examples');
const EMPTY = { __rl: true, mode: 'list', value: '' };
/** Whether a voice is to be chosen from the list, rather than given by an expression. */
const isChosen = ({ voiceId }: INode['parameters']) =>
	(voiceId as typeof EMPTY | undefined)?.mode === 'list';

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
		expect(title).toBe(`## ${workflow.name}`);
		expect(choose).toMatch(/^\*\*Set up:\*\* /);
		const ready = ours.filter(({ type }) => !type.endsWith('Tool')).map(({ name: each }) => each);
		for (const each of ready) expect(choose).toContain(`**${each}**`);
		expect(choose.includes('a voice')).toBe(ours.some(({ parameters }) => isChosen(parameters)));
		expect(choose.includes('a folder')).toBe(text.includes('.n8n-files/'));
		const named = [...choose.slice(11).matchAll(/\*\*([^*:]+)\*\*/g)].map(([, name]) => name);
		expect(nodes.map(({ name }) => name)).toEqual(expect.arrayContaining(named));
		// No path that its reader can't know.
		expect(content).not.toMatch(/\.(json|md|m?ts)\b|\b(docs|examples)\//);
	});

	it('has a note that is read at the zoom at which n8n opens it', () => {
		const [note, ...others] = nodes;
		const { width, height, content } = note!.parameters as Record<'width' | 'height', number> & {
			content: string;
		};
		const [left, top] = note!.position;
		const ends = (at: 0 | 1) => others.map(({ position }) => position[at] + [200, 140][at]!);
		const right = Math.max(left + width, ...ends(0));
		const bottom = Math.max(top + height, ...ends(1));
		// What n8n leaves of a window of 1440 × 900: letters are at least 10 of 14 pixels high.
		expect(Math.max((right - left) / 1240, (bottom - top) / 700)).toBeLessThanOrEqual(14 / 10);
		expect(content.split(/\s+/).length).toBeLessThanOrEqual(210);
	});

	it('does not promise that nothing is paid twice, and speaks of money as people do', () => {
		// A successful call that is repeated is charged, and so is a row whose task failed.
		expect(text).not.toMatch(/\bpaid twice\b|\bmay be paid\b|\bpays\b|\bto be spoken\b/);
	});

	it('keeps nothing of somebody, nor what only the simulated service knows', () => {
		expect(workflow).toMatchObject({ active: false, pinData: {} });
		expect(text).not.toMatch(/versionId|"meta"|shared/);
		expect(workflow).toHaveProperty('tags', [
			{ id: 'exampleTag', name: 'Media Generation example' },
		]);
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
		const realNodes = nodes.filter(({ type }) => !type.endsWith('.stickyNote'));
		expect([...connected].sort()).toEqual(realNodes.map(({ name: each }) => each).sort());
		// A sub-node of an agent hands on what it is, and has nothing before it.
		const firsts = realNodes.filter(({ name: each }) => !targets.includes(each));
		expect(firsts.every(({ type }) => /Trigger$|Tool$|lmChat|outputParser/.test(type))).toBe(true);
	});
});

it('their ids and names differ', () => {
	const all = names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
	for (const key of ['id', 'name'])
		expect(new Set(all.map((each) => each[key])).size).toBe(names.length);
});
