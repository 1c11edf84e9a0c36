import crypto from 'node:crypto';
import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { build } from 'esbuild';
import type {
	ICredentialType,
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
} from 'n8n-workflow';
import type { Loader } from '../../demo/package.mts';
import { type Process, runAs } from './clock.mts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(import.meta.url);

export const PACKAGE = 'n8n-nodes-media-generation';

type Module = Record<string, new () => INodeType & ICredentialType>;
type Run = (module: { exports: Module }, require: (name: string) => unknown) => void;

/** The product as one script, so that each process can have its own copy of all it shares. */
async function compile(): Promise<Run> {
	const paths = globSync(['nodes/*/*.node.ts', 'credentials/*.ts'], { cwd: root });
	const contents = paths.map((path) => `export * from './${path}';`).join('\n');
	const made = await build({
		stdin: { contents, resolveDir: root },
		...{ bundle: true, write: false, platform: 'node', format: 'cjs' },
		external: ['n8n-workflow'],
	});
	const script = new Script(`(module, require) => {${made.outputFiles![0]!.text}\n}`);
	return script.runInThisContext() as Run;
}

const run = await compile();

/** A loop: puts out its items in so many rounds. */
const rounds = {
	description: {
		...{ name: 'rounds', version: 1, inputs: ['main'], outputs: ['main'] },
		properties: [{ displayName: 'Rounds', name: 'rounds', type: 'number', default: 1 }],
	},
	async execute(this: IExecuteFunctions) {
		const context = this.getContext('node') as { rest?: INodeExecutionData[]; size?: number };
		context.rest ??= this.getInputData();
		context.size ??= Math.ceil(context.rest.length / Number(this.getNodeParameter('rounds', 0)));
		const next = context.rest.splice(0, context.size);
		return [next.map((item, index) => ({ ...item, pairedItem: index }))];
	},
} as unknown as INodeType;

export type N8n = Process & { loader: Loader };

/** A process of n8n with the package in it, as new; `onAttempt` gives each attempt its number. */
export function startProcess(name: string, onAttempt: (context: IExecuteFunctions) => number): N8n {
	const module: { exports: Module } = { exports: {} };
	const randomUUID = () => `${name}-${Math.random()}`;
	run(module, (wanted) => (/crypto$/.test(wanted) ? { ...crypto, randomUUID } : require(wanted)));
	const { MediaGeneration, MediaGenerationTrigger, MediaGenerationApi } = module.exports;
	const action = new MediaGeneration!();
	const execute = action.execute!;
	action.execute = async function (this: IExecuteFunctions) {
		return await runAs({ process: own, attempt: onAttempt(this) }, () => execute.call(this))!;
	};
	const mediaGenerationTrigger = new MediaGenerationTrigger!();
	const nodes: Record<string, INodeType> = {
		mediaGeneration: action,
		mediaGenerationTrigger,
		rounds,
	};
	const credential = new MediaGenerationApi!();
	const loader: Loader = {
		packageName: PACKAGE,
		known: { nodes: {}, credentials: {} },
		getNode: (wanted) => ({ type: nodes[wanted]! }),
		getCredential: () => ({ type: credential }),
	};
	const own = { name, isDead: false, loader };
	return own;
}
