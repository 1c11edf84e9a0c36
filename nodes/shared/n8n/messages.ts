import { MEDIA, type MediaKind } from '../contract';
import type { ErrorMeaning, Failure, FailureFacts, UnreachableCause } from '../failure';
import { truncate } from '../parsing/values';

/* The texts that users read about failures. */

/** The two texts that n8n shows for an error. */
export interface Wording {
	/** Says what happened. */
	message: string;
	/** Says what the user can do, and what may have been charged; '' if there is nothing to add. */
	description: string;
}

/** Returns the reason as an addition to a message; '' if there is none. */
const reasonSuffix = (facts: FailureFacts) => (facts.reason ? `: ${facts.reason}` : '');
const formatSeconds = (ms = 0) => (ms === 1000 ? '1 second' : `${ms / 1000} seconds`);
/** Returns a pause in words: in minutes if it is longer than two minutes, otherwise in seconds. */
const formatPause = (ms: number) =>
	ms > 120_000 ? `${Math.ceil(ms / 60_000)} minutes` : formatSeconds(Math.ceil(ms / 1000) * 1000);
const statusSuffix = (status?: number) => (status ? ` (HTTP ${status})` : '');

/** How many texts `listFirst` lists by default. */
const MAX_LISTED_TEXTS = 5;
/** The maximum length of each text in the list of `listFirst`, in characters. */
const MAX_LISTED_TEXT_CHARS = 300;
/** Returns a list of the first `max` texts, and says how many more there are: `a, b and 3 more`. */
export const listFirst = (texts: string[], max = MAX_LISTED_TEXTS) =>
	texts
		.slice(0, max)
		.map((text) => truncate(text, MAX_LISTED_TEXT_CHARS))
		.join(', ') + (texts.length > max ? ` and ${texts.length - max} more` : '');

/** Names items as rows of a table, from 1: `row 13`, `rows 13 and 66`. At most `max` rows are named. */
export function nameRows(itemIndexes: number[], max = MAX_LISTED_TEXTS): string {
	const rows = itemIndexes.map((index) => String(index + 1));
	if (rows.length === 1) return `row ${rows[0]}`;
	const lastRow = rows.length > max ? '' : ` and ${rows.pop()}`;
	return `rows ${listFirst(rows, max)}${lastRow}`;
}

/** Returns the names of `nameRows` as a prefix for a text about these items, as in `Row 13: `. */
export const rowPrefix = (itemIndexes: number[]): string =>
	`${nameRows(itemIndexes).replace('r', 'R')}: `;

const HOST_NOT_FOUND: Wording = {
	message: 'could not be found on the network',
	description: "Check 'Base URL' in the credential for typos, and whether n8n can reach this host.",
};

/** The texts of the kind `unreachable`, by its cause. The name of the host comes before `message`. */
const UNREACHABLE_WORDINGS: Record<UnreachableCause, Wording> = {
	refused: {
		message: 'refused the connection',
		description: "Check 'Base URL' in the credential, and whether the service is running.",
	},
	unknownHost: HOST_NOT_FOUND,
	host: HOST_NOT_FOUND,
	certificate: {
		message: 'does not present a certificate that n8n trusts',
		description:
			"Check 'Base URL': the service may use http://, or its certificate may have expired. For your own authority, set NODE_EXTRA_CA_CERTS in n8n's environment to its file, and restart n8n.",
	},
	blocked: {
		message: 'is blocked by the security settings of this n8n instance',
		description: 'Ask your n8n administrator to allow this host.',
	},
};

/** Says that files were charged, and where to get them. A `data:` URL is left out: it contains the whole file. */
const chargedFilesSentence = ({ fileUrl, otherFileUrls = [], isFree }: FailureFacts) => {
	const urls = [fileUrl, ...otherFileUrls].filter((url) => /^http/.test(url ?? ''));
	const here = urls.length > 0 ? `, or here: ${urls.join(' , ')}` : '.';
	return isFree
		? `Get the file later, at no extra charge${here}`
		: `The request has been charged. Get its ${urls.length > 1 ? 'files' : 'file'} with History → Get Many${here}`;
};

/** Says what to do if a response does not seem to come from the API. */
const WRONG_BASE_URL = "Check 'Base URL' in the credential: the API's URL before /v1.";

/**
 * Says how a user finds out whether a request of this kind was charged, without the period. Speech does not appear in
 * the history (§4.9), and some services list a generation only when it is finished.
 */
export const howToCheckFor = (mediaKind?: MediaKind): string =>
	mediaKind === 'speech'
		? "check the provider's website"
		: 'check History → Get Many in half an hour';

/** What a user can do, by the meaning of the service's error. None of these changes the request. */
const REMEDIES: Partial<Record<ErrorMeaning, string>> = {
	throttled: "Set a lower 'Concurrency' under Options",
	quota: 'Wait until the quota is renewed',
	credit: 'Add credit with your provider',
	unavailable: 'Wait a few minutes',
};
/** Returns what the user can do, without a period; `fallback` if the meaning of the error suggests nothing. */
const remedyFor = ({ meaning, mediaKind, safeInFlight }: FailureFacts, fallback: string) => {
	const isSpeech = mediaKind === 'speech';
	const remedies: typeof REMEDIES = {
		...REMEDIES,
		not_allowed: isSpeech
			? 'Choose a voice, model or settings that your account may use, or ask your provider'
			: 'Ask your provider whether your account may do this',
		length: isSpeech
			? "Set 'Split Text Longer Than' under Options to the longest text that your service accepts"
			: undefined,
		moderation: mediaKind && `Change the ${isSpeech ? 'text' : MEDIA[mediaKind].inputs}`,
	};
	const numberToTry = safeInFlight ? ` (try ${safeInFlight})` : '';
	return ((meaning && remedies[meaning]) ?? fallback) + numberToTry;
};
/** Returns `sentence`, with a space before it, if the remedy for the failure of a part changes the request; otherwise ''. */
const ifRemedyChangesPart = ({ meaning, part }: FailureFacts, sentence: string) =>
	part === undefined || (meaning && meaning in REMEDIES) ? '' : ` ${sentence}`;

/** The texts for a generation that has failed. If the kind is unknown, the inputs of a video include those of an image. */
const failedGeneration = (facts: FailureFacts): Wording => ({
	message: `The service could not generate the ${facts.mediaKind ?? 'video or image'}${reasonSuffix(facts)}`,
	description: `${remedyFor(facts, `Change the ${MEDIA[facts.mediaKind ?? 'video'].inputs}`)}.${ifRemedyChangesPart(facts, 'All parts of the text are then charged again.') || ' A new request is charged.'}`,
});

/** Returns true if something may have been charged. A text must then not simply say to try again. */
const mayHaveCharged = ({ mayBeCharged, taskId, fileUrl, announcedIds, isFree }: FailureFacts) =>
	!isFree && Boolean(mayBeCharged || taskId || fileUrl || announcedIds?.length);

/** Returns true if the failed operation has the option Concurrency: if it is charged or waits for a task. */
const hasConcurrency = ({ mediaKind, lastKnownStatus }: FailureFacts) =>
	mediaKind !== undefined || lastKnownStatus !== undefined;

/** Says which items have the same fault; '' if it is only one item. */
const itemsSuffix = ({ itemIndexes = [], itemCount = 0, isInCredential }: FailureFacts) => {
	if (itemIndexes.length < 2) return '';
	if (itemIndexes.length === itemCount) return isInCredential ? '' : ` in all ${itemCount} rows`;
	return ` in ${itemIndexes.length} of ${itemCount} rows: ${nameRows(itemIndexes).replace('rows ', '')}`;
};

/** Says what the bad value is; '' if it is not known. */
const valueSuffix = ({ badValue, itemIndexes = [] }: FailureFacts) =>
	badValue === undefined ? '' : ` (${itemIndexes.length > 1 ? 'the first' : 'it'} is ${badValue})`;

/** Says what the user can do about an invalid field. */
function inputRemedy(facts: FailureFacts): string {
	const { field, reason, itemIndexes = [], itemCount } = facts;
	if (facts.fieldRemedy) return `${facts.fieldRemedy}.`;
	if (facts.isInCredential) {
		return reason === 'is empty'
			? 'Enter it in the credential, or check its expression there.'
			: `Correct '${field}' in the credential.`;
	}
	if (reason !== 'is empty') return `Correct '${field}'.`;
	const isInSomeRows = itemIndexes.length > 0 && itemIndexes.length !== itemCount;
	// n8n itself refuses a required field without a value, so most likely an expression has returned nothing.
	return isInSomeRows
		? "Fill it in, or skip such rows: set On Error (Settings) to 'Continue (using error output)'."
		: "Fill it in, or check the column's name in its expression.";
}

/** Says that nothing was sent because of an invalid field; '' for a trigger, which sends no request of the user. */
function notSentSentence({ isTrigger, itemIndexes }: FailureFacts): string {
	if (isTrigger) return '';
	return itemIndexes
		? ' Nothing was sent or charged in this run of the node.'
		: ' The request was not sent.';
}

const WORDINGS: Record<Failure['kind'], (facts: FailureFacts) => Wording> = {
	invalidInput: (facts) => ({
		message: `'${facts.field}' ${facts.reason}${itemsSuffix(facts)}${valueSuffix(facts)}`,
		description: inputRemedy(facts) + notSentSentence(facts),
	}),
	badImage: (facts) => ({
		message: facts.reason! + itemsSuffix(facts),
		description: `${facts.fieldRemedy ?? `'${facts.field}' must contain the names of input binary fields that hold images, or image URLs (https://…)`}.${notSentSentence(facts)}`,
	}),
	overBudget: ({ reason, fieldRemedy, maxPaidRequests }) => ({
		message: `${reason}, but 'Max Paid Requests' is ${maxPaidRequests}`,
		description: `${fieldRemedy ?? 'Raise the limit, or pass fewer rows'}. No paid request was sent in this run of the node.`,
	}),
	crashed: () => ({
		message: 'n8n crashed in an earlier attempt, and forgot what was paid for',
		description:
			"Nothing was sent. First get what is there: Speech → Collect (IDs: n8n's log), History → Get Many. To pay for all rows again, retry this execution.",
	}),
	unreachable: ({ host, unreachableCause = 'host', fileUrl }) => {
		const { message, description } = UNREACHABLE_WORDINGS[unreachableCause];
		// A file may be on another host than the API. The Base URL is then not the cause.
		const isFile = fileUrl !== undefined && unreachableCause !== 'blocked';
		const fileRemedy = 'The file is on this host: check whether n8n can reach it.';
		return { message: `${host} ${message}`, description: isFile ? fileRemedy : description };
	},
	noResponse: (facts) => ({
		message: `${facts.host ?? 'The service'} did not respond`,
		description: mayHaveCharged(facts) ? '' : 'Try again in a moment.',
	}),
	foreignServer: (facts) => ({
		message: `The response does not come from a media generation service${statusSuffix(facts.status)}${reasonSuffix(facts)}`,
		description: WRONG_BASE_URL,
	}),
	redirected: ({ host }) => ({
		message: `The service redirects to ${host ?? 'another URL'}`,
		description: `The API token is never sent to another host automatically. ${host ? "If you trust the new host, enter it as 'Base URL' in the credential." : "Ask your provider for the current 'Base URL', and enter it in the credential."}`,
	}),
	tokenRefused: (facts) => ({
		// If the message contains the word “Authorization”, n8n does not try again to activate the workflow.
		message: `Authorization failed: the service refused the API token${reasonSuffix(facts)}`,
		// After a failed activation, n8n does not start the trigger again by itself.
		description: `Enter a new 'API Token' in the credential: the current one is wrong, expired or revoked.${facts.isTrigger ? ' If the workflow was published, publish it again.' : ''}`,
	}),
	outOfCredit: (facts) => ({
		message: `The account is out of credit${reasonSuffix(facts)}`,
		description: 'Add credit with your provider. Account → Get shows what is left.',
	}),
	throttled: (facts) => ({
		message: `${facts.meaning === 'quota' ? "The account's quota is used up" : 'The service received too many requests from this account'}${reasonSuffix(facts)}`,
		description:
			facts.meaning === 'quota'
				? 'Wait until the quota is renewed, or choose a larger plan. Account → Get shows what is left.'
				: `Wait ${facts.retryAfterMs ? formatPause(facts.retryAfterMs) : 'a minute'}${hasConcurrency(facts) ? ". If it happens again, set a lower 'Concurrency' under Options." : ' before you try again.'}`,
	}),
	invalidVoice: (facts) => ({
		// A bare code of the service, such as `invalid_voice_id`, could be taken for the ID.
		message: `Your account has no voice with this ID${/\s/.test(facts.reason ?? '') ? reasonSuffix(facts) : ''}`,
		description: "Choose one with 'From list' in 'Voice', or get the IDs with Voice → Get Many.",
	}),
	notFound: (facts) => ({
		message: facts.taskId
			? `The service has no task with this ID${reasonSuffix(facts)}`
			: `The service does not know this URL${reasonSuffix(facts)}`,
		description: facts.taskId
			? 'Check the task ID. The task may have been deleted, or belong to another account.'
			: `${WRONG_BASE_URL} If it is correct, the service does not offer this operation.`,
	}),
	rejected: (facts) => ({
		message: `The service rejected the request${statusSuffix(facts.status)}${reasonSuffix(facts)}`,
		description: `${remedyFor(facts, facts.reason ? 'Correct the field this reason is about' : 'Check all fields, or ask your provider for the reason')}.${ifRemedyChangesPart(facts, 'A change charges all parts.')}`,
	}),
	unavailable: (facts) => ({
		message: `The service is not available${statusSuffix(facts.status)}${reasonSuffix(facts)}`,
		description: mayHaveCharged(facts) ? '' : 'Try again later.',
	}),
	taskFailed: (facts) => failedGeneration({ ...facts, mediaKind: 'speech' }),
	generationFailed: failedGeneration,
	tooLarge: (facts) => ({
		message: `The service's response is too large${reasonSuffix(facts)}`,
		description:
			mayHaveCharged(facts) || facts.mediaKind
				? 'Contact your provider.'
				: "For a list, turn off 'Return All' and set a lower 'Limit'. Otherwise, contact your provider.",
	}),
	indeterminate: (facts) =>
		facts.sentElsewhere === undefined
			? {
					message: `An earlier attempt sent this request, but it is unclear whether the service accepted it${reasonSuffix(facts)}`,
					description: `The request isn't sent again, to avoid a second charge: ${howToCheckFor(facts.mediaKind)}. If the result isn't there, run only this row (${facts.part ? 'all its parts are charged' : 'charged'}). 'Execute step' here charges all rows.`,
				}
			: {
					message: `An earlier attempt sent this request ${facts.sentElsewhere}`,
					description:
						'To get the result at no extra charge, enter the earlier Base URL or token in the credential again, then choose Executions → Retry. To use the new credential instead, run only this row (charged).',
				},
	noAudioUrl: ({ limitMs }) => ({
		message: `The task is completed, but its audio is not available yet (waited ${formatSeconds(limitMs)})`,
		description: 'Wait a few minutes.',
	}),
	downloadFailed: (facts) => ({
		message: `The file was generated but could not be downloaded${reasonSuffix(facts)}`,
		description: facts.taskId || facts.taskIds ? '' : chargedFilesSentence(facts),
	}),
	streamLost: (facts) => ({
		message: `The result did not arrive${reasonSuffix(facts)}`,
		description: `The request ${facts.mayBeCharged ? 'may have' : 'has'} been charged: check History → Get Many in half an hour. If the result isn't there, run only this row (charged). A retry only looks again.`,
	}),
	timedOut: ({ limitMs, lastKnownStatus, taskId, announcedIds, fileUrl }) => ({
		message: `No result after ${formatSeconds(limitMs)}${lastKnownStatus ? ` (last known status: ${lastKnownStatus})` : ''}`,
		description: `${!fileUrl && (taskId || announcedIds?.length) ? 'It may still arrive. ' : ''}To wait longer, raise 'Timeout' under Options.`,
	}),
	webSocketUnsupported: () => ({
		message:
			"This n8n runs on a version of Node.js without WebSocket support. Run n8n on Node.js 22 or later, or list the tasks in 'Task IDs'",
		description: 'The trigger then checks those.',
	}),
	webSocketBlocked: () => ({
		message:
			"The WebSocket can't be opened, although the service accepts the token. Check 'WebSocket URL' in the credential, and whether a proxy blocks WebSockets. Or list the tasks in 'Task IDs': the trigger then checks those",
		description: "Without a WebSocket, the trigger can't detect tasks by itself.",
	}),
	// n8n shows only the message, not the description, when a workflow cannot be published.
	selfTrigger: ({ nodeName, mediaKind }) => ({
		message: `'${nodeName}' generates what the trigger listens for, so each execution would start and pay for the next. Move that node to a sub-workflow, called with 'Execute Sub-workflow' (not in queue mode)${mediaKind === 'speech' ? ", or list the tasks in 'Task IDs'" : ''}. Even then, a loop through nested sub-workflows, HTTP Request, MCP, lost responses or other workflows' triggers can't be detected`,
		description: "'Execute step' still works.",
	}),
	canceled: () => ({ message: 'The execution was canceled', description: '' }),
};

/** Says how to get the results of speech tasks that were charged; '' if there are none to get. */
function howToCollect({ kind, facts }: Failure): string {
	const { taskId, taskIds, isIncomplete, isFree } = facts;
	const isCollectable = !isFree && kind !== 'taskFailed' && kind !== 'notFound';
	const ids = taskIds?.length ? taskIds : taskId !== undefined && isCollectable ? [taskId] : [];
	if (ids.length === 0) return '';
	const audio = isIncomplete ? 'the paid parts' : 'the audio';
	return `To get ${audio} at no extra charge, use Speech → Collect with ${ids.length > 1 ? 'these IDs: tasks' : 'task ID'} ${ids.join(', ')}.`;
}

/** Returns the texts for a failure. They still contain the token if its facts do. */
export function wordingOf(failure: Failure): Wording {
	const { kind, facts } = failure;
	const { taskId, part, announcedIds, indeterminateParts, repeatCollects } = facts;
	const wording = WORDINGS[kind](facts);
	// The descriptions of these kinds tell a person how to look for the result.
	const saysHowToLook = kind === 'streamLost' || kind === 'indeterminate';
	const taskAndPart = [taskId && `task ${taskId}`, part && `part ${part}`];
	const candidates = facts.candidates?.map(({ id, createdAt }) =>
		createdAt ? `${id} (created ${createdAt})` : id,
	);
	const sentences = [
		// A user has to know which results these are before following the description.
		candidates?.length &&
			`${candidates.length > 1 ? 'One of these history entries' : 'This history entry'} may be the result: ${listFirst(candidates)}.`,
		announcedIds?.length &&
			`${kind === 'streamLost' ? 'The' : 'The request has been charged. In History → Get Many, the'} ${announcedIds.length > 1 ? 'results have the IDs' : 'result has the ID'} ${listFirst(announcedIds)}.`,
		repeatCollects &&
			'To look for the result again at no extra charge, repeat this call with exactly the same values within an hour (over MCP, not in queue mode).',
		!(repeatCollects && saysHowToLook) && wording.description,
		facts.mayBeCharged &&
			!announcedIds?.length &&
			!repeatCollects &&
			!saysHowToLook &&
			`The request may have been charged: ${howToCheckFor(facts.mediaKind)}, before you send it again.`,
		howToCollect(failure),
		indeterminateParts?.length &&
			`Part${indeterminateParts.length > 1 ? 's' : ''} ${indeterminateParts.join(', ')} may also have been charged, although the service didn't confirm it.`,
		facts.fileUrl !== undefined &&
			taskId === undefined &&
			kind !== 'downloadFailed' &&
			chargedFilesSentence(facts),
	];
	return {
		message: [wording.message, taskAndPart.filter(Boolean).join(', ')].filter(Boolean).join(' – '),
		description: sentences.filter(Boolean).join(' '),
	};
}
