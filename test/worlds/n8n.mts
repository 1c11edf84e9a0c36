import crypto from 'node:crypto';
import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { build } from 'esbuild';
import type { ICredentialType, IDataObject, IExecuteFunctions, INodeType } from 'n8n-workflow';
import type { Loader } from '../../demo/package.mts';
import { type Process, runAs } from './clock.mts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(import.meta.url);

export const PACKAGE = 'n8n-nodes-media-generation';

/** The product as one script, so that each process can have its own copy of all it shares. */
const paths = globSync(['nodes/*/*.node.ts', 'credentials/*.ts'], { cwd: root });
const { outputFiles } = await build({
	...{ bundle: true, write: false, platform: 'node', format: 'cjs', external: ['n8n-workflow'] },
	stdin: { contents: paths.map((path) => `export * from './${path}';`).join(''), resolveDir: root },
});
const run = compileFunction(outputFiles![0]!.text, ['module', 'require']);

/** A loop: puts out so many of its items in each round. */
const rounds = {
	description: {
		...{ name: 'rounds', version: 1, inputs: ['main'], outputs: ['main'] },
		properties: [{ displayName: 'Size', name: 'size', type: 'number', default: 1 }],
	},
	async execute(this: IExecuteFunctions) {
		const context = this.getContext('node') as { rest?: IDataObject[] };
		context.rest ??= this.getInputData() as never[];
		const next = context.rest.splice(0, Number(this.getNodeParameter('size', 0)));
		return [next.map((item, index) => ({ ...item, pairedItem: index }))];
	},
} as unknown as INodeType;

export type N8n = Process & { loader: Loader };

/** A process of n8n with the package in it, as new; `onAttempt` gives each attempt its number. */
export function startProcess(name: string, onAttempt: (context: IExecuteFunctions) => number): N8n {
	const module = { exports: {} as Record<string, new () => INodeType & ICredentialType> };
	const randomUUID = () => `${name}-${Math.random()}`;
	run(module, (id: string) => (/crypto$/.test(id) ? { ...crypto, randomUUID } : require(id)));
	const { MediaGeneration, MediaGenerationTrigger, MediaGenerationApi } = module.exports;
	const [mediaGeneration, credential] = [new MediaGeneration!(), new MediaGenerationApi!()];
	const execute = mediaGeneration.execute!;
	mediaGeneration.execute = async function (this: IExecuteFunctions) {
		return await runAs({ process: own, attempt: onAttempt(this) }, () => execute.call(this))!;
	};
	const mediaGenerationTrigger = new MediaGenerationTrigger!();
	const nodes = { mediaGeneration, mediaGenerationTrigger, rounds } as Record<string, INodeType>;
	const loader: Loader = {
		packageName: PACKAGE,
		known: { nodes: {}, credentials: {} },
		getNode: (wanted) => ({ type: nodes[wanted]! }),
		getCredential: () => ({ type: credential }),
	};
	const own = { name, isDead: false, loader };
	return own;
}
