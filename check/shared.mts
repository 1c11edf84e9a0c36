/* The code by which the node reads answers. It comes from `dist`, like the node that the check runs. */
import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
const from = (name: string): unknown => load(`../dist/nodes/shared/${name}.js`);

export const shared = {
	...(from('contract') as typeof import('../nodes/shared/contract.ts')),
	...(from('http/credential') as typeof import('../nodes/shared/http/credential.ts')),
	...(from('n8n/triggerEvents') as typeof import('../nodes/shared/n8n/triggerEvents.ts')),
	...(from('parsing/errors') as typeof import('../nodes/shared/parsing/errors.ts')),
	...(from('parsing/errorTable') as typeof import('../nodes/shared/parsing/errorTable.ts')),
	...(from('parsing/fileType') as typeof import('../nodes/shared/parsing/fileType.ts')),
	...(from(
		'parsing/generationEvents',
	) as typeof import('../nodes/shared/parsing/generationEvents.ts')),
	...(from('parsing/redaction') as typeof import('../nodes/shared/parsing/redaction.ts')),
	...(from('parsing/responses') as typeof import('../nodes/shared/parsing/responses.ts')),
	...(from('parsing/values') as typeof import('../nodes/shared/parsing/values.ts')),
};
