import type { ITriggerFunctions } from 'n8n-workflow';
import type { Api } from '../../shared/api/api';
import type { Failure } from '../../shared/failure';
import type { ExecutionQueue } from './executionQueue';
import type { Settings } from './settings';

/** What all parts of the trigger share from its activation to its end. */
export interface Activation {
	context: ITriggerFunctions;
	api: Api;
	settings: Settings;
	executionQueue: ExecutionQueue;
	/** Identifies this trigger and service in this process; undefined by hand. */
	scope: string | undefined;
	/** A person listens for one event, and is told of every problem. */
	isManual: boolean;
	/** Aborts when the trigger is closed. */
	closing: AbortSignal;
	/** Writes a line to n8n's log. */
	warn(text: string): void;
	/** Call this when there is no point in going on, for instance because the token is refused. */
	onFatal(failure: Failure): void;
}
