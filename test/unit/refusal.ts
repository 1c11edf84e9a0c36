import type { FailureFacts } from '../../nodes/shared/failure';
import { valueOrFailure } from '../fuzz/check';

/** The facts of the refusal that `work` ends with. */
export function refusal(work: () => unknown): FailureFacts {
	const failure = valueOrFailure(work);
	expect(failure).toMatchObject({ kind: 'invalidInput' });
	return (failure as { facts: FailureFacts }).facts;
}
