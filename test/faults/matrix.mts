import { FILES } from './files.mts';
import { HTTP } from './http.mts';
import { LIMITS } from './limits.mts';
import { NETWORK } from './network.mts';
import type { Group } from './row.mts';
import { SOCKETS } from './sockets.mts';
import { SPEECH } from './speech.mts';
import { STREAMS } from './streams.mts';

/**
 * Everything that is known to go wrong with the service and on the way to it, and what comes of it.
 * Each row runs in n8n's engine (faults.test.ts); docs/faults.md is made of it (document.test.ts).
 */
export const MATRIX: Group[] = [
	...NETWORK,
	...SOCKETS,
	...HTTP,
	...SPEECH,
	...STREAMS,
	...FILES,
	...LIMITS,
];
