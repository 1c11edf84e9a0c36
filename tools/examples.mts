import { readFileSync } from 'node:fs';
import { makeVoices } from '../simulator/voices.mts';

/** Under which the tools keep the credential for the simulated service. */
export const CREDENTIAL = { id: 'mediaGenSimulator', name: 'Media Generation (simulator)' };

/** Those for the servers of `npm run test:storage`, by the type of node. */
const STORAGE: Record<string, Record<string, { id: string; name: string }>> = {
	'n8n-nodes-base.postgres': { postgres: { id: 'storagePostgres', name: 'Postgres account' } },
	'n8n-nodes-base.awsS3': { aws: { id: 'storageAws', name: 'AWS account' } },
	'n8n-nodes-base.ftp': { sftp: { id: 'storageSftp', name: 'SFTP account' } },
	'n8n-nodes-base.nextCloud': { nextCloudApi: { id: 'storageWebDav', name: 'NextCloud account' } },
};

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
		if (STORAGE[node.type]) node.credentials = STORAGE[node.type];
		if (!node.type.startsWith('n8n-nodes-media-generation.')) continue;
		node.credentials = { mediaGenerationApi: CREDENTIAL };
		if (!('voiceId' in node.parameters)) continue;
		const { voice_id: value, name: cachedResultName } = voice!;
		node.parameters.voiceId = { __rl: true, mode: 'list', value, cachedResultName };
	}
	return workflow;
}
