import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Instance } from './instance.mts';
import { project } from './package.mts';

const folder = join(project, 'examples');

export interface Example {
	/** The file's name without its ending: what `--run` takes. */
	name: string;
	id: string;
	title: string;
	path: string;
	/** The node of ours in it. */
	nodeName: string;
	/** Whether it runs without anybody: not where a chat begins it, with a model of the user's own. */
	runsAlone: boolean;
	/** It waits for events, so it has to be published rather than executed. */
	isTriggered: boolean;
}

export function readExamples(): Example[] {
	return readdirSync(folder)
		.filter((file) => file.endsWith('.json'))
		.map((file) => {
			const path = join(folder, file);
			const { id, name, nodes } = JSON.parse(readFileSync(path, 'utf8'));
			const ours = nodes.find(({ type }: { type: string }) => type.startsWith('n8n-nodes-media-'));
			const runsAlone = nodes.some(({ type }: { type: string }) => type.endsWith('.manualTrigger'));
			return {
				name: basename(file, '.json'),
				id,
				title: name,
				path,
				nodeName: ours.name,
				runsAlone,
				isTriggered: ours.type.endsWith('Trigger'),
			};
		});
}

export interface Connection {
	apiToken: string;
	baseUrl: string;
}

/** Puts the credential that the examples refer to, and the examples themselves, into an instance. */
export async function importExamples(instance: Instance, connection: Connection): Promise<void> {
	const credential = { ...referredCredential(), type: 'mediaGenerationApi', data: connection };
	const file = join(instance.folder, 'credential.json');
	writeFileSync(file, JSON.stringify([credential]), { mode: 0o600 });
	try {
		await instance.command('import:credentials', `--input=${file}`);
	} finally {
		rmSync(file);
	}
	await instance.command('import:workflow', '--separate', `--input=${folder}`);
}

/** The id and name by which the examples know the credential. */
function referredCredential(): { id: string; name: string } {
	const [example] = readExamples() as [Example];
	const { nodes } = JSON.parse(readFileSync(example.path, 'utf8'));
	return nodes.find(({ name }: { name: string }) => name === example.nodeName).credentials
		.mediaGenerationApi;
}
