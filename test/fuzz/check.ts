import fc from 'fast-check';
import { Failure } from '../../nodes/shared/failure';
import { redactor } from '../../nodes/shared/parsing/redaction';

/**
 * FUZZ_TIMES=100 npm test -- test/fuzz does a hundred times the normal number of runs;
 * FUZZ_SEED (with the seed that a failure prints) does the same runs again.
 */
const TIMES = Math.max(1, Number(process.env.FUZZ_TIMES ?? 1) || 1);
const SEED = process.env.FUZZ_SEED === undefined ? undefined : Number(process.env.FUZZ_SEED);

/** How many runs a property gets that has `normal` of them without FUZZ_TIMES. */
const runs = (normal: number) => Math.ceil(normal * TIMES);

jest.setTimeout(300_000 * TIMES);

/** Where the readers are told that an answer comes from. */
export const BASE = 'https://media.example.com';
export const SOURCE = { baseUrl: BASE, redact: redactor('') };

interface Settings<T> {
	/** Tried first, in every run. */
	examples?: readonly T[];
	/** Number of runs without FUZZ_TIMES. */
	normal?: number;
}

const parametersOf = <T>({ examples = [], normal = 75 }: Settings<T>): fc.Parameters<[T]> => ({
	numRuns: runs(normal) + examples.length,
	examples: examples.map((example): [T] => [example]),
	...(SEED === undefined ? {} : { seed: SEED }),
});

/**
 * Holds for every value of `arbitrary`, and first for each of `examples`: what once broke.
 * fast-check's message names seed and counterexample when it does not.
 */
export function always<T>(
	arbitrary: fc.Arbitrary<T>,
	settings: Settings<NoInfer<T>>,
	holds: (value: T) => void,
): void {
	fc.assert(fc.property(arbitrary, holds), parametersOf(settings));
}

/** What `work` gives, or the Failure that it ends with; anything else that it throws goes on. */
export function valueOrFailure<T>(work: () => T): T | Failure {
	try {
		return work();
	} catch (error) {
		if (error instanceof Failure) return error;
		throw error;
	}
}
