import type { FaultAction, FaultRule, HistoryItem } from '../../simulator/simulator.mts';
import * as row from '../faults/row.mts';
import { HISTORY, sim } from './setup';

/* What the service does in a test, and what it saw. */

/** A message as the service pushes it. */
export const message = (taskId: unknown, percentage: unknown) => ({
	type: 'labs_status_updated',
	payload: { task_id: taskId, process_percentage: percentage },
});

/** A video in the history that nobody has made here, later than what a test makes. */
export const made = (id: string, changes: Partial<HistoryItem> = {}): HistoryItem => ({
	id,
	prompt: 'P',
	type: 'video',
	file_url: `${sim.fileOrigin}/files/video/${id}.mp4`,
	status: 'completed',
	created_at: new Date(Date.now() + 5000).toISOString(),
	...changes,
});

/** An answer in place of the normal one. */
export const answer = (...said: Parameters<typeof row.answer>) => row.answer(...said).action;

type Which = Omit<FaultRule, 'action'>;
export const ALWAYS = row.always;

/** What becomes of the next create call, reading of a task or of the history, or download. */
export const onCreate = (action: FaultAction, which: Which = {}) =>
	sim.fault({ method: 'POST', ...which, action });
export const onRead = (action: FaultAction, which: Which = {}) =>
	sim.fault({ method: 'GET', path: '/v1/labs/task/', ...which, action });
export const onHistory = (action: FaultAction, which: Which = {}) =>
	sim.fault({ path: HISTORY, ...which, action });
export const onFile = (action: FaultAction, which: Which = {}) =>
	sim.fault({ on: 'file', ...which, action });

/** The create calls with this text are refused, and not charged. */
export const noCredit = (body: string, times = 1) => onCreate(answer(402), { body, times });

/** Requests to one kind of address, in order. */
export const requests = (method: string, pathPrefix: string) =>
	sim.requests.filter((record) => record.method === method && record.path.startsWith(pathPrefix));

/** Create calls, however they were answered. */
export const posts = () => sim.countRequests('POST', '/');

/** Readings of speech tasks. */
export const readings = (taskId = '') => requests('GET', `/v1/labs/task/${taskId}`);

/** How often the history was read. */
export const looks = () => sim.countRequests('GET', HISTORY);

/** All speech tasks, in the order in which they were created. */
export const tasks = () => [...sim.tasks.values()];

/** The speech task whose text begins so. */
export const taskOf = (text: string) => tasks().find(({ input }) => input.startsWith(text))!;
