import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CREDENTIAL, readExample } from '../examples.mts';
import type { Instance } from './instance.mts';
import { project } from './package.mts';

const folder = join(project, 'examples');

export interface Example {
	/** The name of the file, without `.json`. */
	name: string;
	id: string;
	path: string;
	/** The node that the example is about: the first node of this package or, if there is none, of any package. */
	nodeName: string;
	/** True if the example succeeds without a person, a feed or a language model, and has a manual trigger. */
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
			// Feeds and language models are not simulated. An example with `stopAndError` may fail on purpose.
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

/** A credential as n8n imports it. The workflows refer to it by its id. */
export interface Credential {
	id: string;
	name: string;
	type: string;
	data: object;
}

/** Imports credentials or workflows into an instance of n8n, which need not be running. */
export async function importInto(
	instance: Instance,
	kind: 'credentials' | 'workflow',
	entities: object[],
): Promise<void> {
	if (entities.length === 0) return;
	const file = join(instance.folder, `${kind}.json`);
	writeFileSync(file, JSON.stringify(entities), { mode: 0o600 });
	try {
		await instance.runCommand(`import:${kind}`, `--input=${file}`);
	} finally {
		rmSync(file);
	}
}

/**
 * Imports all examples into an instance of n8n, together with a credential for the service. Their nodes have that
 * credential and a voice.
 */
export async function importExamples(instance: Instance, data: Connection): Promise<void> {
	await importInto(instance, 'credentials', [{ ...CREDENTIAL, type: 'mediaGenerationApi', data }]);
	const workflows = readExamples().map(({ path }) => readExample(path));
	await importInto(instance, 'workflow', workflows);
}
