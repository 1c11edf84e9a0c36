import crypto from 'node:crypto';
import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { build } from 'esbuild';
import type { ICredentialType, IExecuteFunctions, INodeType } from 'n8n-workflow';
import type { Loader } from '../../demo/package.mts';
import { type Process, runAs } from './clock.mts';
import { ledger, note } from './ledger.mts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(import.meta.url);

/** The product as one script, so that each process can have its own copy of all it shares. */
const paths = globSync(['nodes/*/*.node.ts', 'credentials/*.ts'], { cwd: root });
const { outputFiles } = await build({
	...{ bundle: true, write: false, platform: 'node', format: 'cjs', external: ['n8n-workflow'] },
	stdin: { contents: paths.map((path) => `export * from './${path}';`).join(''), resolveDir: root },
});
const run = compileFunction(outputFiles![0]!.text, ['module', 'require']);

export type N8n = Process & { loader: Loader };

/** A process of n8n with the package in it, as new. */
export function startProcess(name: string): N8n {
	const module = { exports: {} as Record<string, new () => INodeType & ICredentialType> };
	const randomUUID = () => `${name}-${Math.random()}`;
	run(module, (id: string) => (/crypto$/.test(id) ? { ...crypto, randomUUID } : require(id)));
	const { MediaGeneration, MediaGenerationTrigger, MediaGenerationApi } = module.exports;
	const [action, credential] = [new MediaGeneration!(), new MediaGenerationApi!()];
	const execute = action.execute!;
	action.execute = async function (this: IExecuteFunctions) {
		const texts = this.getInputData().map(({ json }) => String(json.text));
		const attempt = ledger.filter(({ what }) => what === 'attempt').length + 1;
		note({ what: 'attempt', attempt, execution: String(this.getWorkflow().name), texts });
		return await runAs({ process: own, attempt }, () => execute.call(this))!;
	};
	const nodes = { mediaGeneration: action, mediaGenerationTrigger: new MediaGenerationTrigger!() };
	const loader: Loader = {
		packageName: 'n8n-nodes-media-generation',
		known: { nodes: {}, credentials: {} },
		getNode: (wanted) => ({ type: nodes[wanted as keyof typeof nodes] }),
		getCredential: () => ({ type: credential }),
	};
	const own = { name, isDead: false, loader };
	return own;
}
