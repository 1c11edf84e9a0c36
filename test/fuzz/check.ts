import fc from 'fast-check';
import { Failure } from '../../nodes/shared/failure';
import { redactor } from '../../nodes/shared/parsing/redaction';

/**
 * FUZZ_TIMES=100 npm test -- test/fuzz does a hundred times the normal number of runs. They are the same ones each time,
 * so that nobody's change is red because of somebody else's text; FUZZ_SEED=<a number> does others.
 */
const TIMES = Math.max(1, Number(process.env.FUZZ_TIMES ?? 1) || 1);
const SEED = Number(process.env.FUZZ_SEED ?? 1);

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
		seed: SEED,
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
