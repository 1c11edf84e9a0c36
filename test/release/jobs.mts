/* What the jobs of .github/workflows run, read as GitHub reads it. Actions (`uses:`) are left out. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

interface Step {
	name?: string;
	run?: string;
	if?: string;
	env?: Record<string, string>;
	'working-directory'?: string;
}

interface WorkflowJob {
	name?: string;
	env?: Record<string, string>;
	strategy?: { matrix: Record<string, string[]> };
	steps: Step[];
}

/** A shell step, with the values of its matrix filled in. */
export interface ShellStep {
	/** Its name, or its command. */
	title: string;
	run: string;
	env: Record<string, string>;
	folder: string;
}

/** A job, or one job of a matrix. */
export interface Job {
	workflow: string;
	name: string;
	steps: ShellStep[];
}

type Values = Record<string, string>;

/** A text with its `${{ … }}` filled in; what only GitHub knows is replaced by its name. */
const filled = (text: string, values: Values) =>
	text.replace(/\$\{\{ *([\w.]+) *\}\}/g, (_, name: string) => values[name] ?? name);

/** Whether a step's `if` holds. Throws for one that is more than `a == 'b' || c == 'd'`. */
function holds(condition: string | undefined, values: Values): boolean {
	if (condition === undefined) return true;
	return condition.split(' || ').some((part) => {
		const [, name, value] = /^([\w.]+) == '([^']*)'$/.exec(part) ?? [];
		if (name === undefined || !(name in values)) throw new Error(`Can't tell whether ${part}`);
		return values[name] === value;
	});
}

/** One set of values for each job of a matrix; a single empty one without a matrix. */
const valuesOf = (matrix: Record<string, string[]> = {}): Values[] =>
	Object.entries(matrix).reduce<Values[]>(
		(all, [key, choices]) =>
			all.flatMap((values) => choices.map((choice) => ({ ...values, [`matrix.${key}`]: choice }))),
		[{}],
	);

function shellStep(job: WorkflowJob, step: Step, values: Values): ShellStep[] {
	if (step.run === undefined || !holds(step.if, values)) return [];
	const run = filled(step.run, values);
	const env = Object.entries({ ...job.env, ...step.env });
	return [
		{
			title: step.name ?? run,
			run,
			env: Object.fromEntries(env.map(([key, text]) => [key, filled(text, values)])),
			folder: step['working-directory'] ?? '.',
		},
	];
}

/** The jobs of all workflows in a project. */
export function readJobs(project: string): Job[] {
	const { load } = createRequire(join(project, 'tools/lint/package.json'))('js-yaml') as {
		load(text: string): { jobs: Record<string, WorkflowJob> };
	};
	const folder = join(project, '.github/workflows');
	return readdirSync(folder).flatMap((workflow) => {
		const { jobs } = load(readFileSync(join(folder, workflow), 'utf8'));
		return Object.entries(jobs).flatMap(([id, job]) =>
			valuesOf(job.strategy?.matrix).map((values) => ({
				workflow,
				name: filled(job.name ?? id, values),
				steps: job.steps.flatMap((step) => shellStep(job, step, values)),
			})),
		);
	});
}
