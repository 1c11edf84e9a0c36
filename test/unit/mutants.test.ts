import { MUTANTS, textOf } from '../mutants/mutants.mts';

test.each(MUTANTS)('the code in %s that a mutant changes is there: %s', (file, from) => {
	expect(textOf(file, from).text).toContain(from);
});
