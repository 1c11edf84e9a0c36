import type { Item } from '../../item';
import type { Job } from '../../made';

/** Account → Get (§4.10): the record as the service has it. */
export function getAccount(item: Item): Job {
	return async () => [item.output(await item.api.getAccount(item.run.stopped))];
}
