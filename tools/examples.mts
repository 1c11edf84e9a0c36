import { readFileSync } from 'node:fs';
import { makeVoices } from '../simulator/voices.mts';

/** The credential for the simulated service, as the tools name it. */
export const CREDENTIAL = { id: 'mediaGenSimulator', name: 'Media Generation (simulator)' };

/** Those for the servers of `npm run test:storage`, by the type of node. */
const STORAGE: Record<string, Record<string, { id: string; name: string }>> = {
	'n8n-nodes-base.postgres': { postgres: { id: 'storagePostgres', name: 'Postgres account' } },
	'n8n-nodes-base.awsS3': { aws: { id: 'storageAws', name: 'AWS account' } },
	'n8n-nodes-base.ftp': { sftp: { id: 'storageSftp', name: 'SFTP account' } },
};

/** A node of a workflow file, with what the tools and tests change about it. */
export interface FileNode {
	name: string;
	type: string;
	typeVersion: number;
	parameters: Record<string, any>;
	credentials?: Record<string, unknown>;
	webhookId?: string;
	disabled?: boolean;
	onError?: string;
}

/** The node of a workflow file that has this name. */
export function nodeOf(workflow: { name: string; nodes: FileNode[] }, name: string): FileNode {
	const found = workflow.nodes.find((node) => node.name === name);
	if (!found) throw new Error(`The workflow ${workflow.name} has no node ${name}`);
	return found;
}

/** A workflow file of `examples/`, with what its user is to choose filled in for the simulated service. */
export function readExample(path: string): any {
	const workflow: { nodes: FileNode[] } = JSON.parse(readFileSync(path, 'utf8'));
	const [voice] = makeVoices();
	for (const node of workflow.nodes) {
		if (STORAGE[node.type]) node.credentials = STORAGE[node.type];
		if (!node.type.startsWith('n8n-nodes-media-generation.')) continue;
		node.credentials = { mediaGenerationApi: CREDENTIAL };
		if (!node.parameters.voiceId || node.parameters.voiceId.value) continue;
		const { voice_id: value, name: cachedResultName } = voice!;
		node.parameters.voiceId = { __rl: true, mode: 'list', value, cachedResultName };
	}
	return workflow;
}
