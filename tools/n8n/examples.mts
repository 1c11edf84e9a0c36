import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CREDENTIAL, readExample } from '../examples.mts';
import type { Instance } from './instance.mts';
import { project } from './package.mts';

const folder = join(project, 'examples');

export interface Example {
	/** The file's name without its ending: what `--run` takes. */
	name: string;
	id: string;
	title: string;
	path: string;
	/** The node that it is about: the first of ours, where it has any. */
	nodeName: string;
	/** Whether it runs without anybody: not where a chat begins it, with a model of the user's own. */
	runsAlone: boolean;
	/** It waits for events and needs nothing else, so it can be published rather than executed. */
	isTriggered: boolean;
}

export function readExamples(): Example[] {
	return readdirSync(folder)
		.filter((file) => file.endsWith('.json'))
		.map((file) => {
			const path = join(folder, file);
			const { id, name, nodes } = readExample(path);
			const first = (kind: RegExp) => nodes.find(({ type }: { type: string }) => kind.test(type));
			const ours = first(/^n8n-nodes-media-/) ?? first(/(?<!Trigger|stickyNote)$/);
			const has = (kind: string) =>
				nodes.some((node: { type: string }) => node.type.endsWith(kind));
			// Nobody simulates a feed.
			const runsAlone = has('.manualTrigger') && !has('.rssFeedRead');
			return {
				name: basename(file, '.json'),
				id,
				title: name,
				path,
				nodeName: ours.name,
				runsAlone,
				// One with a bucket can't be published without a credential for it: test:storage has one.
				isTriggered: ours.type.endsWith('Trigger') && !has('.awsS3'),
			};
		});
}

export interface Connection {
	apiToken: string;
	baseUrl: string;
}

/** A credential as n8n imports it; `readExample` refers to it by its id. */
export interface Credential {
	id: string;
	name: string;
	type: string;
	data: object;
}

/** Puts credentials into an instance. */
export async function importCredentials(
	instance: Instance,
	credentials: Credential[],
): Promise<void> {
	if (credentials.length === 0) return;
	const file = join(instance.folder, 'credentials.json');
	writeFileSync(file, JSON.stringify(credentials), { mode: 0o600 });
	try {
		await instance.command('import:credentials', `--input=${file}`);
	} finally {
		rmSync(file);
	}
}

/** Puts a credential for the service, and the examples with it and a voice, into an instance. */
export async function importExamples(instance: Instance, connection: Connection): Promise<void> {
	const credential = { ...CREDENTIAL, type: 'mediaGenerationApi', data: connection };
	await importCredentials(instance, [credential]);
	const filled = join(instance.folder, 'examples');
	mkdirSync(filled, { recursive: true });
	for (const { name, path } of readExamples()) {
		writeFileSync(join(filled, `${name}.json`), JSON.stringify(readExample(path)));
	}
	await instance.command('import:workflow', '--separate', `--input=${filled}`);
	rmSync(filled, { recursive: true });
}
