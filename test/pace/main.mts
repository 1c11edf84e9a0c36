import { parseArgs } from 'node:util';
import { removeEngineFolder } from '../../demo/engine.mts';
import { LIMITS } from './limits.mts';
import { measure } from './measure.mts';
import { writeSection } from './section.mts';

/*
 * npm run pace -- [--processes 1,3,10] [--only WORDS] [--write]: how near the node comes to limits that it is not told,
 * beside one who knows them, and how much it is refused or loses, on one process and on several. `--write`: into docs/bench.md.
 */
const { values } = parseArgs({
	options: {
		processes: { type: 'string', default: '1,3,10' },
		only: { type: 'string', default: '' },
		write: { type: 'boolean' },
	},
});

/** A table for docs/bench.md: share of the possible, share refused, share lost, last end beside the first. */
const table = [
	`| limit | processes | of the possible | refused | lost | last end / first |`,
	`| --- | ---: | ---: | ---: | ---: | ---: |`,
];
let missed = 0;
for (const name of Object.keys(LIMITS).filter((one) => new RegExp(values.only).test(one))) {
	for (const processes of values.processes.split(',').map(Number)) {
		const { measured, misses } = await measure(name, processes);
		missed += misses.length;
		const figures = Object.entries(measured).map(([what, figure]) => {
			return `${what} ${figure.toFixed(what === 'minutes' ? 1 : 3)}${misses.includes(what) ? ' !' : ''}`;
		});
		console.log(`${name}, ${processes}: ${figures.join(', ')}`);
		const { share, refused, lost, spread } = measured;
		const shown = [share, refused, lost].map((part) => `${(100 * part).toFixed(1)} %`);
		table.push(`| ${[name, processes, ...shown, spread.toFixed(1)].join(' | ')} |`);
	}
}
const { write } = values;
if (write) writeSection(table);
console.log(`pace: ${missed} figures missed`);
removeEngineFolder();
process.exitCode = missed > 0 ? 1 : 0;
