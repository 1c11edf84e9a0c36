import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { git, notesOf } from '../../tools/release/checks.mts';
import type { ShellStep } from './jobs.mts';

/**
 * A clean clone of a project's last commit, on a machine that looks like one of GitHub's: this Node is
 * the one that is set up, and the tag that was pushed is that of the version.
 */
export class Clone {
	readonly folder: string;
	private readonly project: string;
	private readonly temporary = temporaryFolder('clone');
	private readonly environment: NodeJS.ProcessEnv;

	constructor(project: string) {
		const { path } = this.temporary;
		this.project = project;
		this.folder = join(path, 'project');
		git(project, 'clone', '--quiet', '--no-hardlinks', project, this.folder);
		const programs = join(path, 'bin');
		mkdirSync(programs);
		const program = (name: string, ...lines: string[]) =>
			writeFileSync(join(programs, name), ['#!/bin/sh', ...lines].join('\n'), { mode: 0o755 });
		program('sudo', 'exec "$@"');
		// No release is made: it is printed, with the notes in the file that comes last.
		program('gh', 'echo "gh $*"', 'for last; do :; done', 'cat "$last"');
		// As on a machine where neither npm nor jest is under way.
		const own = Object.entries(process.env).filter(
			([name]) => !/^(npm_|NODE_ENV$|JEST_)/i.test(name),
		);
		this.environment = {
			...Object.fromEntries(own),
			CI: 'true',
			GITHUB_REF_NAME: `v${this.version}`,
			RUNNER_TEMP: path,
			PATH: [programs, dirname(process.execPath), process.env.PATH].join(delimiter),
		};
	}

	private get version(): string {
		return JSON.parse(readFileSync(join(this.folder, 'package.json'), 'utf8')).version;
	}

	/** Gives what is under [Unreleased] the version's heading, unless the version has one. */
	writeChangelog(): void {
		const path = join(this.folder, 'CHANGELOG.md');
		const text = readFileSync(path, 'utf8');
		if (notesOf(text, this.version) !== undefined) return;
		const unreleased = '## [Unreleased]\n';
		writeFileSync(
			path,
			text.replace(unreleased, `${unreleased}\n## [${this.version}] - 2026-01-01\n`),
		);
	}

	/** Takes over what is installed in the project, instead of a step that installs it. */
	useInstalled(): void {
		symlinkSync(join(this.project, 'node_modules'), join(this.folder, 'node_modules'), 'junction');
	}

	/**
	 * Runs a step as GitHub does, but `npm publish` with these options: there is nobody to sign its
	 * provenance. Resolves to the exit code and all that was printed.
	 */
	async run(
		{ run, env, folder }: ShellStep,
		{ publish = ['--dry-run'], extra = {} }: { publish?: string[]; extra?: NodeJS.ProcessEnv } = {},
		onOutput: (text: string) => void = () => {},
	): Promise<{ code: number; output: string }> {
		const script = run.replace('npm publish --provenance', `npm publish ${publish.join(' ')}`);
		const child = spawn('bash', ['-e', '-c', script], {
			cwd: join(this.folder, folder),
			env: { ...this.environment, ...env, ...extra },
			stdio: ['ignore', 'pipe', 'pipe'],
		});
		let output = '';
		for (const stream of [child.stdout, child.stderr]) {
			stream.setEncoding('utf8').on('data', (text: string) => {
				output += text;
				onOutput(text);
			});
		}
		const [code] = (await once(child, 'close')) as [number];
		return { code, output };
	}

	remove(): void {
		this.temporary.remove();
	}
}
