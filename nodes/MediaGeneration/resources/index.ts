import type { Operation } from '../run';
import { getAccount } from './account/get';
import { getAllHistory } from './history/getAll';
import { createImage } from './image/create';
import { remove } from './speech/delete';
import { get } from './speech/get';
import { speak } from './speech/speak';
import { wait } from './speech/wait';
import { framesToVideo } from './video/framesToVideo';
import { ingredientsToVideo } from './video/ingredientsToVideo';
import { textToVideo } from './video/textToVideo';
import { getAllVoices } from './voice/getAll';

/** Every operation by `resource:operation`, the names that saved workflows hold. */
export const operations: Record<string, Operation> = {
	'account:get': getAccount,
	'history:getAll': getAllHistory,
	'image:create': createImage,
	'speech:delete': remove,
	'speech:get': get,
	'speech:speak': speak,
	'speech:wait': wait,
	'video:framesToVideo': framesToVideo,
	'video:ingredientsToVideo': ingredientsToVideo,
	'video:textToVideo': textToVideo,
	'voice:getAll': getAllVoices,
};
