/** The key of a field that exists only in types. It makes StopStarting and AbortInFlight two different types. */
declare const signalPurpose: unique symbol;

/** Aborts when nothing new may begin. Calls in flight go on: only their response tells what was charged. */
export type StopStarting = AbortSignal & { readonly [signalPurpose]: 'stopStarting' };

/** Aborts billable calls in flight as well. It may then be unknown whether they were charged. */
export type AbortInFlight = AbortSignal & { readonly [signalPurpose]: 'abortInFlight' };

/** The two signals of a billable call. Their types differ, so code that swaps them does not compile. */
export interface CallSignals {
	readonly stopStarting: StopStarting;
	readonly abortInFlight: AbortInFlight;
}

/** Makes the signals of a run's calls. `cancelSignal` aborts both of them, `stopSignal` only `stopStarting`. */
export const makeCallSignals = (runSignals: {
	cancelSignal: AbortSignal;
	stopSignal: AbortSignal;
}): CallSignals => ({
	stopStarting: AbortSignal.any([runSignals.cancelSignal, runSignals.stopSignal]) as StopStarting,
	abortInFlight: runSignals.cancelSignal as AbortInFlight,
});
