declare const purpose: unique symbol;

/** Aborts when nothing new may begin. What costs nothing ends, too; a billable call in flight goes on. */
export type StopStarting = AbortSignal & { readonly [purpose]: 'stopStarting' };

/** Aborts billable calls in flight as well: their answers, which say what was charged, are lost. */
export type AbortInFlight = AbortSignal & { readonly [purpose]: 'abortInFlight' };

/** What ends billable calls. The compiler refuses one in place of the other. */
export interface CallSignals {
	readonly stopStarting: StopStarting;
	readonly abortInFlight: AbortInFlight;
}

/** For all that `canceled` aborts at once, and of which nothing more begins after `stopping`. */
export const callSignals = (from: {
	canceled: AbortSignal;
	stopping: AbortSignal;
}): CallSignals => ({
	stopStarting: AbortSignal.any([from.canceled, from.stopping]) as StopStarting,
	abortInFlight: from.canceled as AbortInFlight,
});
