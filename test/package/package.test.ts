import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { INodePropertyOptions } from 'n8n-workflow';
import { MediaGeneration } from '../../nodes/MediaGeneration/MediaGeneration.node';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { packAlone } from '../../tools/pack.mts';

/* The packed tarball: what is in it, whether n8n can load it, and n8n's own scan. */

const project = join(__dirname, '../..');
const folder = temporaryFolder('package');
const temporary = folder.path;
let target: string;
let files: string[];

beforeAll(() => {
	({ target, files } = packAlone(project, temporary));
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
		const action = new MediaGeneration().description.properties;
		const operations = action
			.filter(({ name }) => name === 'operation')
			.flatMap(({ displayOptions, options = [] }) =>
				options.map(
					(option) =>
						`MediaGeneration/__schema__/v1.0.0/${displayOptions!.show!.resource![0]}/${(option as INodePropertyOptions).value}`,
				),
			);
		const schemas = [...operations, 'MediaGenerationTrigger/__schema__/v1.0.0'];
		expect(files.filter((path) => path.includes('__schema__')).sort()).toEqual(
			schemas.map((path) => `dist/nodes/${path}.json`).sort(),
		);
	});

	test('asks npm for nothing', () => {
		const manifest = JSON.parse(packed('package.json'));
		expect(manifest.dependencies).toBeUndefined();
		expect(manifest.optionalDependencies).toBeUndefined();
		expect(manifest.peerDependencies).toEqual({ 'n8n-workflow': '*' });
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

describe.each([
	['this Node', process.execPath],
	['the newest Node', join(project, 'tools/newest/node_modules/node/bin/node')],
])("n8n's loader on %s, with only n8n-workflow to be found", (_, node) => {
	let loaded: {
		nodes: Array<{ name: string; iconUrl: Icon; codex: { categories: string[] } }>;
		credentials: Array<{ name: string; iconUrl: Icon; supportedNodes: string[] }>;
		resolvable: string[];
	};
	type Icon = { light: string; dark: string };
	beforeAll(() => {
		loaded = runScript('load.mts', [target], node);
	});

	test('finds nothing else beside the package', () => {
		expect(loaded.resolvable).toEqual(['n8n-workflow']);
	});

	test('loads every node and credential that package.json names', () => {
		const { n8n } = JSON.parse(packed('package.json'));
		expect(loaded.nodes).toHaveLength(n8n.nodes.length);
		expect(loaded.nodes.map(({ name }) => name)).toContain('mediaGeneration');
		expect(loaded.credentials.map(({ name }) => name)).toEqual(['mediaGenerationApi']);
		expect(loaded.credentials[0]?.supportedNodes).toContain('mediaGeneration');
		for (const { codex } of loaded.nodes) expect(codex.categories).not.toHaveLength(0);
	});

	test('finds their icons, light and dark', () => {
		for (const { iconUrl } of [...loaded.nodes, ...loaded.credentials]) {
			expect(iconUrl.light).not.toBe(iconUrl.dark);
			for (const url of [iconUrl.light, iconUrl.dark]) {
				const path = url.replace('icons/n8n-nodes-media-generation/', '');
				expect(packed(path)).toContain('<svg');
			}
		}
	});
});

describe('where the package cannot run', () => {
	const node = 'dist/nodes/MediaGeneration/MediaGeneration.node.js';
	const trigger = 'dist/nodes/MediaGenerationTrigger/MediaGenerationTrigger.node.js';
	/** What is thrown when a file of the package is loaded beside an n8n-workflow of these exports. */
	function saidOf(path: string, exports: string, before = '') {
		const folder = join(temporary, `other-${exports.length}-${before.length}`);
		const copy = join(folder, 'node_modules/n8n-nodes-media-generation');
		cpSync(target, copy, { recursive: true });
		mkdirSync(join(folder, 'node_modules/n8n-workflow'), { recursive: true });
		writeFileSync(join(folder, 'node_modules/n8n-workflow/index.js'), exports);
		const script = `${before}; try { require(${JSON.stringify(join(copy, path))}); } catch (e) { console.log(e.message); }`;
		const { NODE_PATH: _, ...env } = process.env;
		return execFileSync(process.execPath, ['-e', script], { env, encoding: 'utf8' });
	}

	test.each([node, trigger])('an n8n that is too old is named as what is at fault: %s', (path) => {
		expect(saidOf(path, 'exports.NodeApiError = class {};')).toMatch(
			/^This version of n8n-nodes-media-generation needs n8n 1\.101 or later\. Update n8n/,
		);
	});

	test('so is a Node that is too old', () => {
		expect(saidOf(node, 'exports.NodeConnectionTypes = {};', 'delete AbortSignal.any')).toMatch(
			/needs Node\.js 20\.19 or later/,
		);
	});
});

describe("n8n's scan of community packages", () => {
	const scan = (leg: 'source' | 'dist', folder: string) => runScript('scan.mts', [leg, folder]);

	test.each(['source', 'dist'] as const)(
		'finds no error in what it is to see of %s',
		(leg) => {
			const result = scan(leg, leg === 'source' ? project : target);
			expect(result).toMatchObject({ passed: true, problems: '' });
			expect(result.files).toBeGreaterThan(10);
		},
		180_000,
	);
});
