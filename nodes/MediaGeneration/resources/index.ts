import { invalidInput } from '../../shared/failure';
import type { Operation } from '../item';
import { getAccount } from './account/get';
import { getAllHistory } from './history/getAll';
import { createImage } from './image/create';
import { logged } from './logged';
import { deleteSpeech } from './speech/delete';
import { getSpeech } from './speech/get';
import { speak } from './speech/speak';
import { waitForSpeech } from './speech/wait';
import { framesToVideo } from './video/framesToVideo';
import { ingredientsToVideo } from './video/ingredientsToVideo';
import { textToVideo } from './video/textToVideo';
import { getAllVoices } from './voice/getAll';

/** Every operation by `resource:operation`, the names that saved workflows hold. */
const operations: Partial<Record<string, Operation>> = {
	'account:get': getAccount,
	'history:getAll': getAllHistory,
	'image:create': createImage,
	'speech:delete': deleteSpeech,
	'speech:get': getSpeech,
	'speech:speak': speak,
	'speech:wait': waitForSpeech,
	'video:framesToVideo': framesToVideo,
	'video:ingredientsToVideo': ingredientsToVideo,
	'video:textToVideo': textToVideo,
	'voice:getAll': getAllVoices,
};

/** Throws a Failure of kind invalidInput that names an operation that does not exist. */
export function findOperation(resource: unknown, operation: unknown): Operation {
	const name = `${resource}:${operation}`;
	const found = operations[name];
	if (found) return (item) => logged(item, name, found(item));
	throw invalidInput('Operation', `is '${operation}', which does not exist for '${resource}'`);
}
