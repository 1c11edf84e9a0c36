import { globSync, readFileSync } from 'node:fs';

/* What a clone installs. */

const paths = globSync(['package-lock.json', 'tools/*/package-lock.json']);

test.each(paths)('%s says where each package is, so npm need not ask for 2,000 first', (path) => {
	interface Locked {
		integrity?: string;
		resolved?: string;
	}
	const { packages }: { packages: Record<string, Locked> } = JSON.parse(readFileSync(path, 'utf8'));
	const unknown = Object.entries(packages).filter(([, each]) => each.integrity && !each.resolved);
	// npm leaves them out with the setting omit-lockfile-registry-resolved.
	expect(unknown.map(([place]) => place)).toEqual([]);
});
