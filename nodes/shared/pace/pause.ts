import { steadyNow } from '../async/deadline';

/** After the first refusal, in ms; doubled by each further one … */
const FIRST_MS = 250;
const MAX_MS = 5000;
/** … and gone after so many accepted requests. */
const ACCEPTS_TO_RECOVER = 50;

/** The pause between two requests of an account: multiplied by refusals, shortened by what is accepted. */
export class Pause {
	/** In ms. */
	ms = 0;
	private recoveryMs = 0;
	private grewAt = 0;
	/** Requests accepted since it has grown. */
	private accepts = 0;

	recordAccepted(): void {
		this.accepts++;
		this.ms = Math.max(0, this.ms - this.recoveryMs);
	}

	/** It doubles, unless requests have been accepted at a shorter one on average since it last grew. */
	lengthen(): void {
		const isFirst = this.grewAt === 0;
		// Nothing was accepted in between, so nothing new was learnt.
		if (!isFirst && this.accepts === 0) return;
		const now = steadyNow();
		const provenMs = isFirst ? Infinity : (now - this.grewAt) / this.accepts;
		const doubledMs = Math.max(FIRST_MS, this.ms * 2);
		this.ms = Math.min(MAX_MS, doubledMs, Math.max(this.ms, provenMs));
		this.recoveryMs = this.ms / ACCEPTS_TO_RECOVER;
		this.grewAt = now;
		this.accepts = 0;
	}
}
