import fc from 'fast-check';
import { Failure } from '../../nodes/shared/failure';
import { redactor } from '../../nodes/shared/parsing/redaction';

/**
 * FUZZ_TIMES=100 npm test -- test/fuzz does a hundred times the normal number of runs;
 * FUZZ_SEED (with the seed that a failure prints) does the same runs again.
 */
const TIMES = Math.max(1, Number(process.env.FUZZ_TIMES ?? 1) || 1);
const SEED = process.env.FUZZ_SEED === undefined ? undefined : Number(process.env.FUZZ_SEED);

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

/**
 * Holds for every value of `arbitrary`, and first for each of `examples`: what once broke.
 * fast-check's message names seed and counterexample when it does not.
 */
export function always<T>(
	arbitrary: fc.Arbitrary<T>,
	{ examples = [], normal = 75 }: Settings<NoInfer<T>>,
	holds: (value: T) => void,
): void {
	fc.assert(fc.property(arbitrary, holds), {
		numRuns: Math.ceil(normal * TIMES) + examples.length,
		examples: examples.map((example): [T] => [example]),
		...(SEED === undefined ? {} : { seed: SEED }),
	});
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
