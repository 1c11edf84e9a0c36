import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CREDENTIAL, readExample } from '../examples.mts';
import type { Instance } from './instance.mts';
import { project } from './package.mts';

const folder = join(project, 'examples');

export interface Example {
	/** The file's name without its ending. */
	name: string;
	id: string;
	path: string;
	/** The node that it is about: the first of ours, where it has any. */
	nodeName: string;
	/** Whether it runs without anybody, to a good end: not where a chat begins it, with a model of the user's own. */
	runsAlone: boolean;
}

export function readExamples(): Example[] {
	return readdirSync(folder)
		.filter((file) => file.endsWith('.json'))
		.map((file) => {
			const path = join(folder, file);
			const { id, nodes } = readExample(path);
			const first = (kind: RegExp) => nodes.find(({ type }: { type: string }) => kind.test(type));
			const ours = first(/^n8n-nodes-media-/) ?? first(/(?<!Trigger|stickyNote)$/);
			const has = (kind: string) =>
				nodes.some((node: { type: string }) => node.type.endsWith(kind));
			// Nobody simulates a feed or a model, and a sample may have a row that fails.
			const others = ['.rssFeedRead', '.lmChatOpenAi', '.stopAndError'];
			const runsAlone = has('.manualTrigger') && !others.some(has);
			return {
				name: basename(file, '.json'),
				id,
				path,
				nodeName: ours.name,
				runsAlone,
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

/** Puts credentials or workflows into an instance, which need not run. */
export async function importInto(
	instance: Instance,
	kind: 'credentials' | 'workflow',
	entities: object[],
): Promise<void> {
	if (entities.length === 0) return;
	const file = join(instance.folder, `${kind}.json`);
	writeFileSync(file, JSON.stringify(entities), { mode: 0o600 });
	try {
		await instance.command(`import:${kind}`, `--input=${file}`);
	} finally {
		rmSync(file);
	}
}

/** Puts a credential for the service, and the examples with it and a voice, into an instance. */
export async function importExamples(instance: Instance, data: Connection): Promise<void> {
	await importInto(instance, 'credentials', [{ ...CREDENTIAL, type: 'mediaGenerationApi', data }]);
	const workflows = readExamples().map(({ path }) => readExample(path));
	await importInto(instance, 'workflow', workflows);
}
