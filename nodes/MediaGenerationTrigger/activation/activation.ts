import type { ITriggerFunctions } from 'n8n-workflow';
import type { Api } from '../../shared/api/api';
import type { Failure } from '../../shared/failure';
import type { Product } from '../../shared/n8n/creatorRegistry';
import type { Settings } from './settings';

/** One activation of the trigger: what its parts share until n8n closes it. */
export interface Activation {
	context: ITriggerFunctions;
	api: Api;
	settings: Settings;
	/** Identifies the workflow, the trigger node and the service. It is the same after a restart. */
	identityKey: string;
	/**
	 * True in a manual test. A person then waits for one event, so some failures are shown that otherwise are only
	 * logged.
	 */
	isManual: boolean;
	/** Aborts when the trigger is closed. */
	closing: AbortSignal;
	/**
	 * Resolves with true if a sub-workflow that is called downstream of this trigger has created `product`, as far as
	 * this process knows. An event about `product` would then start a loop in which each round is charged. Never
	 * rejects.
	 */
	isCreatedDownstream(product: Product): Promise<boolean>;
	/** Writes a warning to n8n's log, with the token redacted. */
	warn(text: string): void;
	/**
	 * Ends the trigger with an error. If the token was refused, the token is first checked three times over two
	 * minutes, since a service may refuse a valid token for a moment. The trigger goes on if one of these checks does
	 * not find the token refused. So the caller must go on as before until `closing` aborts.
	 */
	onFatal(failure: Failure): void;
}
