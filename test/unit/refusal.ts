import { Failure, type FailureFacts } from '../../nodes/shared/failure';

/** The Failure that `work` ends with. */
export function failureOf(work: () => unknown): Failure {
	try {
		work();
	} catch (error) {
		expect(error).toBeInstanceOf(Failure);
		return error as Failure;
	}
	throw new Error('it did not fail');
}

/** The facts of the refusal that `work` ends with. */
export function refusal(work: () => unknown): FailureFacts {
	const { kind, facts } = failureOf(work);
	expect(kind).toBe('invalidInput');
	return facts;
}
