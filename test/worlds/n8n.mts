import crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { build } from 'esbuild';
import type { ICredentialType, IExecuteFunctions, INodeType } from 'n8n-workflow';
import { n8nWorkflow } from '../../demo/n8n.mts';
import type { Loader } from '../../demo/package.mts';
import { type Process, running } from './clock.mts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(import.meta.url);

type Module = Record<string, new () => INodeType & ICredentialType>;
type Run = (exports: Module, require: (name: string) => unknown) => void;

/** A defect to plant: in which file, what, and what in its place. */
const mutant = process.env.WORLDS_MUTANT && (JSON.parse(process.env.WORLDS_MUTANT) as string[]);

function plant({ path }: { path: string }) {
	const [file, from, to] = mutant as string[];
	if (!path.endsWith(file!)) return undefined;
	const text = readFileSync(path, 'utf8');
	if (!text.includes(from!)) throw new Error(`${file} has no ${from}`);
	return { contents: text.replace(from!, to!), loader: 'ts' as const };
}

/** The product as one script, so that each process can have its own copy of all it shares. */
async function compile(): Promise<Run> {
	const names = ['MediaGeneration', 'MediaGenerationTrigger'];
	const lines = names.map((name) => `export * from './nodes/${name}/${name}.node';`);
	lines.push(`export * from './credentials/MediaGenerationApi.credentials';`);
	const made = await build({
		stdin: { contents: lines.join('\n'), resolveDir: root },
		bundle: true,
		write: false,
		platform: 'node',
		format: 'cjs',
		external: ['n8n-workflow'],
		plugins: mutant
			? [{ name: 'mutant', setup: (making) => making.onLoad({ filter: /\.ts$/ }, plant) }]
			: [],
	});
	const text = made.outputFiles[0]!.text;
	const wrapped = `(exports, require) => { const module = { exports };${text}\nObject.assign(exports, module.exports); }`;
	return new Script(wrapped, { filename: 'product.js' }).runInThisContext() as Run;
}

const run = await compile();

/** Puts out its items in so many rounds, then all that has come back. */
const roundsOf: INodeType = {
	description: {
		displayName: 'Rounds',
		name: 'rounds',
		group: ['transform'],
		version: 1,
		description: 'A loop',
		defaults: { name: 'Rounds' },
		inputs: ['main'],
		outputs: ['main', 'main'],
		properties: [{ displayName: 'Rounds', name: 'rounds', type: 'number', default: 1 }],
	},
	async execute(this: IExecuteFunctions) {
		const context = this.getContext('node') as {
			rest?: ReturnType<IExecuteFunctions['getInputData']>;
			size?: number;
		};
		if (!context.rest) {
			context.rest = this.getInputData();
			context.size = Math.ceil(
				context.rest.length / (this.getNodeParameter('rounds', 0) as number),
			);
		}
		const next = context.rest.splice(0, context.size);
		return next.length > 0
			? [next.map((item, index) => ({ ...item, pairedItem: index })), []]
			: [[], [{ json: {} }]];
	},
};

let attempts = 0;

/** A process of n8n with the package in it, as new. */
export function startProcess(
	name: string,
	onAttempt: (attempt: number, context: IExecuteFunctions) => void,
): Process & { loader: Loader } {
	const exports: Module = {};
	const fixed = { ...crypto, randomUUID: () => `${name}-${Math.random()}` };
	run(exports, (wanted) =>
		wanted === 'n8n-workflow' ? n8nWorkflow : /crypto$/.test(wanted) ? fixed : require(wanted),
	);
	const action = new exports.MediaGeneration!();
	const execute = action.execute!;
	action.execute = async function (this: IExecuteFunctions) {
		const attempt = ++attempts;
		onAttempt(attempt, this);
		return await running.run({ process: own, attempt }, () => execute.call(this));
	};
	const nodes: Record<string, INodeType> = {
		mediaGeneration: action,
		mediaGenerationTrigger: new exports.MediaGenerationTrigger!(),
		rounds: roundsOf,
	};
	const credential = new exports.MediaGenerationApi!();
	const own = {
		name,
		isDead: false,
		loader: {
			packageName: 'n8n-nodes-media-generation',
			known: { nodes: {}, credentials: {} },
			getNode: (wanted: string) => ({ type: nodes[wanted]! }),
			getCredential: () => ({ type: credential }),
		},
	};
	return own;
}

/** Attempts are counted from 1 in each world. */
export const countAttemptsAnew = () => void (attempts = 0);
