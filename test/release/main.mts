/*
 * `npm run jobs`: lists the jobs of .github/workflows. `npm run jobs -- lint demo` runs the shell steps
 * of these, each in a clean clone of the last commit; `publish` into a registry on this machine.
 * `--without TITLE` leaves a step out, and takes what it would have installed from this project.
 */
import { parseArgs } from 'node:util';
import { temporaryFolder } from '../../tools/cleanup.mts';
import { startRegistry } from '../install/registry.mts';
import { Clone } from './clone.mts';
import { readJobs, type Job } from './jobs.mts';

const { positionals: names, values } = parseArgs({
	allowPositionals: true,
	options: { without: { type: 'string', multiple: true, default: [] } },
});
const project = process.cwd();
const jobs = readJobs(project);

const unknown = names.filter((name) => !jobs.some((job) => job.name === name));
if (names.length === 0 || unknown.length > 0) {
	for (const name of unknown) console.error(`There is no job ${name}.`);
	console.log(`Jobs: ${jobs.map(({ name }) => name).join(', ')}`);
	process.exit(unknown.length > 0 ? 1 : 0);
}

const folder = temporaryFolder('registry');
const registry = await startRegistry(folder.path);
try {
	for (const name of names) {
		for (const job of jobs.filter((one) => one.name === name)) await runJob(job);
	}
} finally {
	await registry.close();
	folder.remove();
}

/** Ends at the first step that fails. */
async function runJob({ workflow, name, steps }: Job): Promise<void> {
	const clone = new Clone(project);
	try {
		if (values.without.length > 0) clone.useInstalled();
		if (workflow === 'publish.yml') clone.writeChangelog();
		for (const step of steps.filter(({ title }) => !values.without.includes(title))) {
			console.log(`\n=== ${name}: ${step.title}`);
			const options = { publish: registry.options };
			const { code } = await clone.run(step, options, (text) => process.stdout.write(text));
			if (code === 0) continue;
			console.error(`\n=== ${name}: "${step.title}" failed (exit code ${code})`);
			process.exitCode = 1;
			return;
		}
		console.log(`\n=== ${name}: done`);
	} finally {
		clone.remove();
	}
}
