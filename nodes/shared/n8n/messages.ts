import type { Failure, FailureFacts, FailureKind, Meaning } from '../failure';
import { truncate } from '../parsing/values';

/** The only place that puts failures into words. Pure. */

export interface Wording {
	/** What happened. */
	message: string;
	/** What to do about it. */
	description: string;
}

const reasonSuffix = (facts: FailureFacts) => (facts.text ? `: ${facts.text}` : '');
const seconds = (ms = 0) => (ms === 1000 ? '1 second' : `${ms / 1000} seconds`);
const http = (status?: number) => (status ? ` (HTTP ${status})` : '');
/** The items at fault, where there are several. */
const inItems = (items: number[]) =>
	items.length > 1 ? ` in ${items.length} items: ${few(items.map(String))}` : '';
/** The first few ids, and how many more there are. */
const few = (texts: string[]) =>
	truncate(texts.slice(0, 5).join(', '), 1500) +
	(texts.length > 5 ? ` and ${texts.length - 5} more` : '');

/** By what prevents it. */
const UNREACHABLE: Record<string, Wording> = {
	refused: {
		message: 'refused the connection',
		description: "Check 'Base URL' in the credential, and whether the service is running.",
	},
	host: {
		message: 'could not be found on the network',
		description:
			"Check 'Base URL' in the credential for typos, and whether n8n can reach the internet.",
	},
	certificate: {
		message: 'does not present a certificate that n8n trusts',
		description:
			"Check 'Base URL' in the credential: the certificate must be issued for that host. If it is one of your own, name its authority's file in n8n's environment variable NODE_EXTRA_CA_CERTS, and restart n8n.",
	},
	blocked: {
		message: 'is blocked by the security settings of this n8n instance',
		description: "Ask your n8n administrator to allow the service's host.",
	},
};

/** Where the files are, the failed one first; a `data:` address is the file itself. */
const addressesOf = ({ fileUrl, otherFiles = [] }: FailureFacts) => {
	const addresses = [fileUrl, ...otherFiles].filter((address) => /^http/.test(address ?? ''));
	return addresses.length > 0 ? ` and is available at ${addresses.join(' , ')}` : '';
};

/** Speech does not appear in the history (§4.9). */
const mayBeChargedWarning = ({ isSpeech }: FailureFacts) =>
	`The service may have accepted the request and charged for it. Check ${isSpeech ? "the provider's website" : "History → Get Many (or the provider's website)"} before you run this again.`;

/** What to do before the next attempt, where it is not the input that has to change. */
const REMEDIES: Partial<Record<Meaning, string>> = {
	throttled: "Set a lower 'Concurrency' under Options",
	quota: 'Wait until the quota is renewed',
	credit: 'Add credit with the provider',
	not_allowed: 'Choose a voice, a model or settings that the provider lets your account use',
	unavailable: 'Wait some minutes',
};
const remedy = ({ means, notTooMany }: FailureFacts, change: string) => {
	const known = notTooMany ? ` (${notTooMany} at once were not too many)` : '';
	return ((means && REMEDIES[means]) ?? change) + known;
};

const WORDS: Record<FailureKind, (facts: FailureFacts) => Wording> = {
	invalidInput: ({ field = 'A field', text = 'is not valid', items = [] }) => ({
		message: `'${field}' ${text}${inItems(items)}`,
		description: [
			// n8n itself refuses a required field that is left empty, so it is an expression.
			items.length > 0
				? `Check the column's name in the expression of '${field}'.`
				: `Change '${field}'.`,
			items.length > 1 &&
				"To let such items pass, set On Error to 'Continue (using error output)' in the node's settings.",
			'Nothing was sent to the service.',
		]
			.filter(Boolean)
			.join(' '),
	}),
	badImage: ({ field = 'The field', text = '' }) => ({
		message: text.trim() || 'A file is missing',
		description: `'${field}' must name input fields that hold images, or their addresses (https://…). Nothing was sent to the service.`,
	}),
	unreachable: ({ host = 'The service', text = 'host' }) => {
		const { message, description } = UNREACHABLE[text]!;
		return { message: `${host} ${message}`, description };
	},
	noResponse: ({ host, mayBeCharged }) => ({
		message: `${host ?? 'The service'} did not respond`,
		description: `The connection broke or took too long.${mayBeCharged ? '' : ' Try again in a moment.'}`,
	}),
	foreignServer: ({ status }) => ({
		message: `The response does not come from a media generation service${http(status)}`,
		description:
			"Check 'Base URL' in the credential: it must be the address of the API, not of a web page.",
	}),
	redirected: ({ host }) => ({
		message: `The service redirects to ${host ?? 'another address'}`,
		description:
			"The API token is never sent to another address automatically. If you trust that address, enter it as 'Base URL' in the credential.",
	}),
	tokenRefused: (facts) => ({
		// n8n does not retry the activation of a workflow whose message holds its first word.
		message: `Authorization failed: the service refused the API token${reasonSuffix(facts)}`,
		description: "Enter a new 'API Token' in the credential: it is wrong, expired or revoked.",
	}),
	outOfCredit: (facts) => ({
		message: `The account is out of credit${reasonSuffix(facts)}`,
		description:
			'Add credit with the provider, then run this again. Account → Get shows what is left.',
	}),
	rateLimited: (facts) => ({
		message: `${facts.means === 'quota' ? "The account's quota is used up" : 'The service received too many requests from this account'}${reasonSuffix(facts)}`,
		description:
			facts.means === 'quota'
				? 'A used-up quota comes back when its period ends, or with a larger plan. Account → Get shows what is left.'
				: `Wait ${facts.retryAfterMs ? seconds(Math.ceil(facts.retryAfterMs / 1000) * 1000) : 'a minute'}, or set a lower 'Concurrency' under Options.`,
	}),
	invalidVoice: (facts) => ({
		message: `The service does not accept this voice${reasonSuffix(facts)}`,
		description:
			"Enter the ID, not the name, or choose From list in 'Voice'. Voice → Get Many has the IDs, too.",
	}),
	notFound: (facts) => ({
		message: facts.taskId
			? `The service has no task with this ID${reasonSuffix(facts)}`
			: `The service does not recognize this address${reasonSuffix(facts)}`,
		description: facts.taskId
			? 'Check the task ID. The task may have been deleted, or belong to another account.'
			: "Check 'Base URL' in the credential: it must be the part of the address before the API paths (/v1/…).",
	}),
	rejected: (facts) => ({
		message: `The service rejected the request${reasonSuffix(facts)}`,
		description: `${remedy(facts, 'Change the input that this refers to')}${http(facts.status)}.`,
	}),
	unavailable: (facts) => ({
		message: `The service is not available${http(facts.status)}${reasonSuffix(facts)}`,
		description: `Your workflow is not the cause.${facts.mayBeCharged ? '' : ' Try again later.'}`,
	}),
	taskFailed: (facts) => ({
		message: `The service could not generate the speech${reasonSuffix(facts)}`,
		description: `${remedy(facts, 'Change the text, voice or model')} and run this again: it will be charged as a new task.`,
	}),
	generationFailed: (facts) => ({
		message: `The service could not generate this${reasonSuffix(facts)}`,
		description: `${remedy(facts, 'Change the prompt or images')} and run this again: it will be charged as a new generation.`,
	}),
	tooLarge: (facts) => ({
		message: `The service sent more data than it should${reasonSuffix(facts)}`,
		description:
			"Nothing was returned, because it would have been incomplete. Request less, for example with a 'Limit' instead of 'Return All'. If that does not help, contact the provider of the service.",
	}),
	indeterminate: (facts) => ({
		message: `An earlier attempt sent this request and got no clear response${reasonSuffix(facts)}`,
		description:
			'It is not sent again automatically, since it could be charged twice. To send it all the same, start the workflow from the beginning.',
	}),
	noAddress: ({ limitMs }) => ({
		message: `The task is completed, but its file still has no address after ${seconds(limitMs)}`,
		description: 'It may still come.',
	}),
	downloadFailed: (facts) => ({
		message: `The file was generated but could not be downloaded${reasonSuffix(facts)}`,
		description: facts.taskId ? '' : `It has been charged${addressesOf(facts)}`,
	}),
	streamLost: (facts) => ({
		message: `The service stopped reporting before the result was ready${reasonSuffix(facts)}`,
		description: `The generation may still be running, and ${facts.mayBeCharged ? 'may have' : 'has'} been charged. Check History → Get Many before you run this again: it is not requested a second time automatically.`,
	}),
	timedOut: ({ limitMs, lastKnownStatus }) => ({
		message: `No result after ${seconds(limitMs)}${lastKnownStatus ? ` (last known: ${lastKnownStatus})` : ''}`,
		description:
			"The result may still come. If it usually takes longer, set a longer 'Timeout' under Options.",
	}),
	noWebSocket: () => ({
		message: 'This n8n runs on a version of Node.js without WebSocket',
		description:
			"Run n8n on Node.js 22 or later. Or enter the tasks in 'Task IDs': those are looked up instead.",
	}),
	noSocket: () => ({
		message:
			"The WebSocket can't be opened, although the service accepts the token. Check 'WebSocket URL' in the credential, and whether a proxy blocks WebSockets. Or enter the tasks in 'Task IDs': those are looked up instead",
		description: 'Without a WebSocket the trigger hears of no task.',
	}),
	noHistory: ({ status }) => ({
		message: `The service keeps no history of videos and images${http(status)}`,
		description:
			"Take 'Video or Image Made' out of 'Trigger On': it can't be noticed without the history.",
	}),
	selfTrigger: ({ text = 'A node', isSpeech }) => ({
		message: `'${text}' follows this trigger and creates what it listens for, so the workflow would start itself again and again. ${isSpeech ? "Enter the tasks to listen for in 'Task IDs', or call" : 'Call'} '${text}' in another workflow with 'Execute Sub-workflow'. In queue mode, in a sub-workflow of that one, or with HTTP Request, this would not be noticed`,
		description:
			"Each execution would pay for the event that starts the next one. By hand, with 'Execute step', the workflow can be tried as it is.",
	}),
	canceled: () => ({ message: 'The execution was canceled', description: '' }),
};

/** How to collect what is paid for as tasks. */
function collecting(kind: FailureKind, { taskId, taskIds }: FailureFacts): string {
	if (taskIds?.length) {
		return `The parts made so far are paid for, as the tasks ${taskIds.join(', ')}. To collect them at no extra charge, retry, or use Speech → Collect with these IDs.`;
	}
	if (taskId === undefined || kind === 'taskFailed' || kind === 'notFound') return '';
	return `To collect the result at no extra charge, use Speech → Collect with task ID ${taskId}; creating it again is charged as a new task.`;
}

/** Message and description of a failure, without item number. Never holds the token. */
export function wordingOf({ kind, facts }: Failure): Wording {
	const { taskId, part, ids, indeterminateParts } = facts;
	const words = WORDS[kind](facts);
	const about = [taskId !== undefined && `task ${taskId}`, part !== undefined && `part ${part}`];
	const candidates = facts.candidates?.map(({ id, createdAt }) =>
		createdAt ? `${id} (created ${createdAt})` : id,
	);
	const sentences = [
		words.description,
		ids?.length
			? `It has been charged, and appears in History → Get Many as ${few(ids)}.`
			: facts.mayBeCharged && kind !== 'streamLost' && mayBeChargedWarning(facts),
		collecting(kind, facts),
		indeterminateParts?.length &&
			`The service may have accepted and charged for these parts, too, without saying so: ${indeterminateParts.join(', ')}. A retry does not send them again.`,
		facts.fileUrl !== undefined &&
			taskId === undefined &&
			kind !== 'downloadFailed' &&
			`The file has been generated. It has been charged${addressesOf(facts)}`,
		candidates?.length && `These entries of the history may be the result: ${few(candidates)}.`,
	];
	return {
		message: [words.message, about.filter(Boolean).join(', ')].filter(Boolean).join(' – '),
		description: sentences.filter(Boolean).join(' '),
	};
}
