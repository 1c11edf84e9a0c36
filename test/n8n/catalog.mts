/* What n8n's builders know of all nodes: n8n's own, those for AI, and this package's. No n8n runs. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { INodeTypeDescription } from 'n8n-workflow';
import { loadPackage } from '../../demo/package.mts';
import { project } from '../../tools/n8n/package.mts';

const modules = join(project, 'tools/n8n/node_modules');

/** Requires a module of the complete n8n. */
export const ofN8n = createRequire(join(modules, 'n8n/package.json'));

export const ACTION = 'n8n-nodes-media-generation.mediaGeneration';
export const TRIGGER = `${ACTION}Trigger`;

/** The nodes of a package, as n8n knows them, under their full names. */
const named = (packageName: string, nodes: INodeTypeDescription[]) =>
	nodes.map((node) => ({ ...node, name: `${packageName}.${node.name}` }));

function shipped(packageName: string): INodeTypeDescription[] {
	const path = join(modules, packageName, 'dist/types/nodes.json');
	return named(packageName, JSON.parse(readFileSync(path, 'utf8')) as INodeTypeDescription[]);
}

/** What n8n's own validation knows of its nodes' parameters. */
export const definitionFolders = ['n8n-nodes-base', '@n8n/n8n-nodes-langchain'].map((packageName) =>
	join(modules, packageName, 'dist/node-definitions'),
);

const own = await loadPackage();

/** In the order in which n8n loads them, which decides between equals. */
export const catalog: INodeTypeDescription[] = [
	...shipped('n8n-nodes-base'),
	...shipped('@n8n/n8n-nodes-langchain'),
	...named(own.packageName, own.types.nodes as INodeTypeDescription[]),
];
