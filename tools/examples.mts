import { readFileSync } from 'node:fs';
import { makeVoices } from '../simulator/voices.mts';

/** The id and the name of the credential for the simulated service. */
export const CREDENTIAL = { id: 'mediaGenSimulator', name: 'Media Generation (simulator)' };

/** The credentials for the servers of `npm run test:storage`, by the type of the node that uses them. */
const STORAGE_CREDENTIALS: Record<string, Record<string, { id: string; name: string }>> = {
	'n8n-nodes-base.postgres': { postgres: { id: 'storagePostgres', name: 'Postgres account' } },
	'n8n-nodes-base.awsS3': { aws: { id: 'storageAws', name: 'AWS account' } },
	'n8n-nodes-base.ftp': { sftp: { id: 'storageSftp', name: 'SFTP account' } },
};

/** The fields of a node in a workflow file that the tools and tests read or change. */
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

/** Returns the node of a workflow file that has this name. Throws an Error if there is none. */
export function nodeOf(workflow: { name: string; nodes: FileNode[] }, name: string): FileNode {
	const found = workflow.nodes.find((node) => node.name === name);
	if (!found) throw new Error(`The workflow ${workflow.name} has no node ${name}`);
	return found;
}

/**
 * Reads a workflow file of `examples/`. Fills in the credentials and the voice, which a user has to choose, for the
 * simulated service.
 */
export function readExample(path: string): any {
	const workflow: { nodes: FileNode[] } = JSON.parse(readFileSync(path, 'utf8'));
	const [voice] = makeVoices();
	for (const node of workflow.nodes) {
		if (STORAGE_CREDENTIALS[node.type]) node.credentials = STORAGE_CREDENTIALS[node.type];
		if (!node.type.startsWith('n8n-nodes-media-generation.')) continue;
		node.credentials = { mediaGenerationApi: CREDENTIAL };
		if (!node.parameters.voiceId || node.parameters.voiceId.value) continue;
		const { voice_id: value, name: cachedResultName } = voice!;
		node.parameters.voiceId = { __rl: true, mode: 'list', value, cachedResultName };
	}
	return workflow;
}
