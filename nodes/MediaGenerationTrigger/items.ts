import type { INodeExecutionData, ITriggerFunctions } from 'n8n-workflow';
import { startDeadline } from '../shared/async/deadline';
import { download } from '../shared/http/download';
import { Failure } from '../shared/failure';
import { wordingOf } from '../shared/n8n/messages';
import type { Api } from '../shared/api/api';
import type { TaskEventKind } from './settings';

/** What the trigger puts out for one event. */
export interface TaskEvent {
	event: TaskEventKind;
	task_id: string;
	/** 0 to 100. */
	process_percentage: number;
	status?: string;
	audio_url?: string;
	error?: string;
}

/** How long fetching an audio file may take, in ms. */
const DOWNLOAD_MS = 3_600_000;

export const eventItem = (event: TaskEvent): INodeExecutionData => ({
	json: { ...event },
});

/**
 * The item with its audio in `field`. If the file can't be fetched, the task is still completed, and
 * the item says so in `error`. Never rejects.
 */
export async function withFile(
	event: TaskEvent,
	context: ITriggerFunctions,
	api: Api,
	field: string,
	signal: AbortSignal,
): Promise<INodeExecutionData> {
	if (event.audio_url === undefined) return eventItem(event);
	const file = {
		url: event.audio_url,
		kind: 'speech' as const,
		id: event.task_id,
		justMade: true,
	};
	const limit = startDeadline(DOWNLOAD_MS, signal);
	try {
		const data = await download(context, api.credential, file, limit.signal);
		return { ...eventItem(event), binary: { [field]: data } };
	} catch (error) {
		const failure = error instanceof Failure ? error : new Failure('badFile');
		return eventItem({ ...event, error: wordingOf(failure).message });
	} finally {
		limit.stop();
	}
}
