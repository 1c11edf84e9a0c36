import type { ITriggerFunctions } from 'n8n-workflow';
import type { Api } from '../../shared/api/api';
import type { Failure } from '../../shared/failure';
import type { EventSubject } from '../../shared/n8n/requestCreator';
import type { Settings } from './settings';

/** What the parts of the trigger share from the moment n8n activates it until n8n closes it. */
export interface Activation {
	context: ITriggerFunctions;
	api: Api;
	settings: Settings;
	/** Identifies the workflow, the trigger node and the service. It is the same after a restart. */
	identityKey: string;
	/** True in a manual test, in which a person waits for one event. */
	isManual: boolean;
	/** Aborts when the trigger is closed. */
	closing: AbortSignal;
	/**
	 * Resolves with true if this process knows that a sub-workflow downstream has created `subject`. Its event would
	 * start an endless, charged loop. Never rejects.
	 */
	isCreatedDownstream(subject: EventSubject): Promise<boolean>;
	/** Writes a warning to n8n's log, with the token redacted. */
	warn(text: string): void;
	/**
	 * Ends the trigger with an error. If the service has refused the token, the trigger ends only after further checks
	 * have confirmed that. So the caller must go on working until `closing` aborts.
	 */
	onFatal(failure: Failure): void;
}
