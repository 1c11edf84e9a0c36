/* The code by which the node reads answers. It comes from `dist`, like the node that the check runs. */
import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
const from = (name: string): unknown => load(`../dist/nodes/shared/${name}.js`);

export const { ACCOUNT_PATH, GENERATIONS, PAID_OPERATIONS, SPEAK, TERMINAL_EVENTS } = from(
	'contract',
) as typeof import('../nodes/shared/contract.ts');
export const { readCredential } = from(
	'http/credential',
) as typeof import('../nodes/shared/http/credential.ts');
export const { peek } = from('http/bodies') as typeof import('../nodes/shared/http/bodies.ts');
export const { EVENTS } = from(
	'n8n/triggerEvents',
) as typeof import('../nodes/shared/n8n/triggerEvents.ts');
export const { failureOfAnswer, failureOfStatus, readReason, readRetryAfter } = from(
	'parsing/errors',
) as typeof import('../nodes/shared/parsing/errors.ts');
export const { meaningOf } = from(
	'parsing/errorTable',
) as typeof import('../nodes/shared/parsing/errorTable.ts');
export const { fileTypeOf, invalidFileReason } = from(
	'parsing/fileType',
) as typeof import('../nodes/shared/parsing/fileType.ts');
export const { combineRedactors, redactor } = from(
	'parsing/redaction',
) as typeof import('../nodes/shared/parsing/redaction.ts');
export const {
	idOf,
	readCreatedTaskId,
	readGeneratedFiles,
	readNotification,
	readPage,
	readSpeechTask,
	readSuccessRecord,
} = from('parsing/responses') as typeof import('../nodes/shared/parsing/responses.ts');
export const { asId, asText, asTime, isRecord, looksLikeHtml, parseJson } = from(
	'parsing/values',
) as typeof import('../nodes/shared/parsing/values.ts');
