import { Failure } from '../../nodes/shared/failure';

/** The facts of the refusal that `work` ends with. */
export function refusal(work: () => unknown): { field?: string; text?: string } {
	try {
		work();
	} catch (error) {
		expect(error).toBeInstanceOf(Failure);
		expect((error as Failure).kind).toBe('invalidInput');
		return (error as Failure).facts;
	}
	throw new Error('nothing was refused');
}
