import type { ITriggerFunctions } from 'n8n-workflow';
import type { Api } from '../../shared/api/api';
import type { Failure } from '../../shared/failure';
import type { Product } from '../../shared/n8n/creatorRegistry';
import type { Settings } from './settings';

/** What all parts of the trigger share from its activation to its end. */
export interface Activation {
	context: ITriggerFunctions;
	api: Api;
	settings: Settings;
	/** Identifies the trigger and the service, also after a restart. */
	identityKey: string;
	/** A person listens for one event, and is told of every problem. */
	isManual: boolean;
	/** Aborts when the trigger is closed. */
	closing: AbortSignal;
	/** True for what a sub-workflow has created that is called after the trigger. Never rejects. */
	isOwnWork(product: Product): Promise<boolean>;
	/** Writes a line to n8n's log. */
	warn(text: string): void;
	/**
	 * Ends the trigger with an error. A refused token is first checked three times over two minutes: whoever
	 * calls this goes on until `closing` aborts.
	 */
	onFatal(failure: Failure): void;
}
