import type { MediaRequest } from '../../nodes/shared/generation/requestLedger';

/** The accountKey of the credential. */
export const ACCOUNT = 'account';
export const SENT_AT = Date.parse('2026-01-01T10:00:00Z');

let count = 0;

/** A request as it is kept, for one video of "P" unless `fields` say otherwise. */
export const sent = (fields: Partial<MediaRequest> = {}): MediaRequest => ({
	contentDigest: `${fields.kind} ${fields.aspectRatio} ${fields.hasHiddenInputs}`,
	key: `request ${count++}`,
	...{ prompt: 'P', kind: 'video', requestedCount: 1, hasHiddenInputs: false, sentAt: SENT_AT },
	...{
		accountKey: ACCOUNT,
		creator: { id: 'workflow' },
		announcedIds: [],
		files: [],
		failedIds: [],
	},
	...fields,
});
