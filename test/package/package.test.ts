import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { INodePropertyOptions } from 'n8n-workflow';
import { MediaGeneration } from '../../nodes/MediaGeneration/MediaGeneration.node';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { installAlone } from '../../tools/pack.mts';

/* The packed tarball: what is in it, whether n8n can load it, and n8n's own scan. */

const project = join(__dirname, '../..');
const folder = temporaryFolder('package');
const temporary = folder.path;
let target: string;
let files: string[];

beforeAll(() => {
	({ target, files } = installAlone(project, temporary));
});
afterAll(() => folder.remove());

function runScript(name: string, args: string[], node = process.execPath) {
	const { NODE_PATH: _, NODE_ENV: __, ...env } = process.env;
	const script = join(__dirname, name);
	return JSON.parse(execFileSync(node, [script, ...args], { env, encoding: 'utf8' }));
}

const packed = (...path: string[]) => readFileSync(join(target, ...path), 'utf8');

describe('the tarball', () => {
	test('holds what is built, and neither sources nor tests', () => {
		expect(files).toContain('dist/nodes/MediaGeneration/MediaGeneration.node.js');
		expect(files).toContain('dist/credentials/MediaGenerationApi.credentials.js');
		const others = files.filter((path) => !path.startsWith('dist/'));
		expect(others.filter((path) => !/^(package\.json|README\.md|LICENSE)$/.test(path))).toEqual([]);
		const built = files.filter((path) => path.startsWith('dist/'));
		const shipped = /(\.js|\.svg|\.node\.json|__schema__\/.*\.json)$/;
		expect(built.filter((path) => !shipped.test(path))).toEqual([]);
	});

	test('holds an output schema of every operation, and of the trigger', () => {
		const operations = new MediaGeneration().description.properties
			.filter(({ name }) => name === 'operation')
			.flatMap(({ displayOptions, options = [] }) =>
				(options as INodePropertyOptions[]).map(
					({ value }) => `v1.0.0/${displayOptions!.show!.resource![0]}/${value}`,
				),
			);
		const schemas = [
			...operations.map((path) => `MediaGeneration/__schema__/${path}`),
			'MediaGenerationTrigger/__schema__/v1.0.0',
		];
		expect(files.filter((path) => path.includes('__schema__')).sort()).toEqual(
			schemas.map((path) => `dist/nodes/${path}.json`).sort(),
		);
	});

	test('asks npm for nothing', () => {
		const manifest = JSON.parse(packed('package.json'));
		expect(manifest.dependencies).toBeUndefined();
		expect(manifest.optionalDependencies).toBeUndefined();
		expect(manifest.peerDependencies).toEqual({ 'n8n-workflow': '*' });
		// npm would put the newest one beside n8n, which has its own and runs on older versions of Node.
		expect(manifest.peerDependenciesMeta).toEqual({ 'n8n-workflow': { optional: true } });
	});

	test('requires nothing but n8n-workflow, Node and its own files', () => {
		const required = files
			.filter((path) => path.endsWith('.js'))
			.flatMap((path) => [...packed(path).matchAll(/\brequire\(["']([^"']+)["']\)/g)])
			.map(([, name]) => name as string)
			.filter((name) => !/^(\.|node:)/.test(name));
		expect([...new Set(required)]).toEqual(['n8n-workflow']);
	});
});

test.each([
	['this Node', process.execPath],
	['the newest Node', join(project, 'tools/newest/node_modules/node/bin/node')],
])("n8n's loader on %s finds both nodes, the credential and their icons", (_, node) => {
	const { n8n } = JSON.parse(packed('package.json'));
	const { nodes, credentials, resolvable } = runScript('load.mts', [target], node);
	expect(resolvable).toEqual(['n8n-workflow']);
	expect(nodes.map(({ name }: { name: string }) => name)).toContain('mediaGeneration');
	expect(credentials).toMatchObject([
		{ name: 'mediaGenerationApi', supportedNodes: expect.arrayContaining(['mediaGeneration']) },
	]);
	expect([nodes.length, credentials.length]).toEqual([n8n.nodes.length, n8n.credentials.length]);
	for (const { codex } of nodes) expect(codex.categories).not.toHaveLength(0);
	for (const { iconUrl } of [...nodes, ...credentials]) {
		expect(iconUrl.light).not.toBe(iconUrl.dark);
		for (const url of [iconUrl.light, iconUrl.dark]) {
			expect(packed(url.replace('icons/n8n-nodes-media-generation/', ''))).toContain('<svg');
		}
	}
});

describe('where the package cannot run', () => {
	const node = 'dist/nodes/MediaGeneration/MediaGeneration.node.js';
	const trigger = 'dist/nodes/MediaGenerationTrigger/MediaGenerationTrigger.node.js';

	test.each([node, trigger])('an old n8n is named as what is at fault: %s', (path) => {
		const other = temporaryFolder('other');
		const copy = join(other.path, 'node_modules/n8n-nodes-media-generation');
		cpSync(target, copy, { recursive: true });
		mkdirSync(join(other.path, 'node_modules/n8n-workflow'));
		const exports = 'exports.NodeApiError = class {};';
		writeFileSync(join(other.path, 'node_modules/n8n-workflow/index.js'), exports);
		const script = `try { require(${JSON.stringify(join(copy, path))}); } catch (e) { console.log(e.message); }`;
		const { NODE_PATH: _path, ...env } = process.env;
		const reported = execFileSync(process.execPath, ['-e', script], { env, encoding: 'utf8' });
		expect(reported).toMatch(
			/^This version of n8n-nodes-media-generation needs n8n 1\.101 or later\. Update n8n/,
		);
		other.remove();
	});
});

test.each(['source', 'dist'])(
	"n8n's scan of community packages finds no error in what it is to see of %s",
	(leg) => {
		const result = runScript('scan.mts', [leg, leg === 'source' ? project : target]);
		expect(result).toMatchObject({ passed: true, problems: '' });
		expect(result.files).toBeGreaterThan(10);
	},
	180_000,
);
