/* The code by which the node reads answers. It comes from `dist`, like the node that the check runs. */
import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
const from = <Module,>(name: string) => load(`../dist/nodes/shared/${name}.js`) as Module;

export const shared = {
	...from<typeof import('../nodes/shared/contract.ts')>('contract'),
	...from<typeof import('../nodes/shared/http/credential.ts')>('http/credential'),
	...from<typeof import('../nodes/shared/n8n/triggerEvents.ts')>('n8n/triggerEvents'),
	...from<typeof import('../nodes/shared/parsing/errors.ts')>('parsing/errors'),
	...from<typeof import('../nodes/shared/parsing/errorTable.ts')>('parsing/errorTable'),
	...from<typeof import('../nodes/shared/parsing/fileType.ts')>('parsing/fileType'),
	...from<typeof import('../nodes/shared/parsing/generationEvents.ts')>('parsing/generationEvents'),
	...from<typeof import('../nodes/shared/parsing/redaction.ts')>('parsing/redaction'),
	...from<typeof import('../nodes/shared/parsing/responses.ts')>('parsing/responses'),
	...from<typeof import('../nodes/shared/parsing/statusKind.ts')>('parsing/statusKind'),
	...from<typeof import('../nodes/shared/parsing/values.ts')>('parsing/values'),
};
