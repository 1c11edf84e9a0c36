import { readFileSync } from 'node:fs';
import { makeVoices } from '../simulator/voices.mts';

/** Under which the tools keep the credential for the simulated service. */
export const CREDENTIAL = { id: 'mediaGenSimulator', name: 'Media Generation (simulator)' };

interface ExampleNode {
	name: string;
	type: string;
	parameters: Record<string, unknown>;
	credentials?: Record<string, unknown>;
}

/** A workflow file of `examples/`, with what its user is to choose filled in for the simulated service. */
export function readExample(path: string): any {
	const workflow: { nodes: ExampleNode[] } = JSON.parse(readFileSync(path, 'utf8'));
	const [voice] = makeVoices();
	for (const node of workflow.nodes) {
		if (!node.type.startsWith('n8n-nodes-media-generation.')) continue;
		node.credentials = { mediaGenerationApi: CREDENTIAL };
		if (!('voiceId' in node.parameters)) continue;
		const { voice_id: value, name: cachedResultName } = voice!;
		node.parameters.voiceId = { __rl: true, mode: 'list', value, cachedResultName };
	}
	return workflow;
}
