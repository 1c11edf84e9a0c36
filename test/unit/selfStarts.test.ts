import type { ITriggerFunctions, NodeTypeAndVersion } from 'n8n-workflow';
import { SelfStarts } from '../../nodes/MediaGenerationTrigger/activation/selfStarts';
import { Origins } from '../../nodes/shared/n8n/origins';

const SPEAK = { resource: 'speech', operation: 'speak' };

/** What is logged of a trigger that these nodes follow, and these tools of a node among them. */
function logged(
	behind: Array<Partial<NodeTypeAndVersion>>,
	tools: Array<Partial<NodeTypeAndVersion>> = [],
	includesOwn = false,
): string[] {
	const log: string[] = [];
	const context = {
		getNode: () => ({ name: 'Trigger' }),
		getWorkflow: () => ({ id: 'w' }),
		getChildNodes: () => behind,
		getParentNodes: () => tools,
		logger: { warn: (text: string) => log.push(text) },
	} as unknown as ITriggerFunctions;
	new SelfStarts(context, new Origins(), includesOwn, undefined).warn();
	return log;
}

const speak = (changes: Partial<NodeTypeAndVersion> = {}) => ({
	name: 'Narrate',
	type: 'n8n-nodes-media-generation.mediaGeneration',
	disabled: false,
	parameters: SPEAK,
	...changes,
});

describe('a published workflow in which Speak follows the trigger', () => {
	it('is warned once, in the log', () => {
		const [line, ...more] = logged([speak(), speak()]);
		expect(line).toMatch(/'Narrate' follows the trigger: if n8n runs executions in workers/);
		expect(line).toMatch(/until an error stops it after ten times in a row/);
		expect(more).toEqual([]);
		expect(logged([speak()], [], true)[0]).toMatch(/follows the trigger: all that it creates/);
	});

	it.each<[string, Partial<NodeTypeAndVersion>]>([
		['the operation is an expression', { parameters: { ...SPEAK, operation: '={{ $json.do }}' } }],
		['its parameters are the defaults', { parameters: {} }],
	])('is also warned when %s', (_, changes) => {
		expect(logged([speak(changes)]).length).toBe(1);
	});

	it('is also warned when a model may call it', () => {
		const type = 'n8n-nodes-media-generation.mediaGenerationTool';
		const agent = { name: 'Agent', type: '@n8n/n8n-nodes-langchain.agent', disabled: false };
		expect(logged([agent], [speak({ type })]).length).toBe(1);
	});

	it.each<[string, Partial<NodeTypeAndVersion>]>([
		['is off', { disabled: true }],
		['does something else', { parameters: { resource: 'speech', operation: 'get' } }],
		['is of another package', { type: 'n8n-nodes-other.speech' }],
	])('is not warned when the node %s', (_, changes) => {
		expect(logged([speak(changes)])).toEqual([]);
	});
});
