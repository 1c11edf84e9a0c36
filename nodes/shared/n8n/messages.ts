import type { Failure, FailureFacts, FailureKind } from '../failure';
import { clip } from '../parsing/coerce';

/** The only place that puts failures into words. Pure. */

export interface Wording {
	/** What happened. */
	message: string;
	/** What to do about it. */
	description: string;
}

const said = (facts: FailureFacts) => (facts.text ? `: ${facts.text}` : '');
const limit = (ms = 0) => {
	const seconds = ms / 1000;
	if (seconds === 1) return '1 second';
	return seconds > 0 && seconds < Infinity ? `${seconds} seconds` : 'some time';
};
const http = (status = 0) => (Number.isInteger(status) && status > 0 ? ` (HTTP ${status})` : '');
/** The first few ids. */
const few = (texts: string[]) => clip(texts.slice(0, 5).join(', '), 1500);

const UNREACHABLE = {
	refused: {
		message: 'refuses the connection',
		description: "Check 'Base URL' in the credential, and whether the service is running.",
	},
	host: {
		message: 'cannot be found on the network',
		description:
			"Check 'Base URL' in the credential for typing mistakes, and whether n8n may reach the internet.",
	},
	certificate: {
		message: 'does not present a certificate that n8n trusts',
		description: "Check 'Base URL' in the credential: it must name the host of the certificate.",
	},
	blocked: {
		message: 'is blocked by the security settings of this n8n instance',
		description: 'Ask the administrator of this n8n to allow the host of the service.',
	},
} satisfies Record<string, Wording>;

const isReason = (text = ''): text is keyof typeof UNREACHABLE => Object.hasOwn(UNREACHABLE, text);

/** Where the files are, the failed one first. */
const whereabouts = ({ fileUrl, otherFiles = [] }: FailureFacts) => {
	const addresses = [fileUrl, ...otherFiles].filter((address) => address !== undefined);
	return addresses.length > 0 ? ` and lies at ${addresses.join(' , ')}` : '';
};

const UNSURE =
	"The service may have accepted the request and charged for it. Look at History → Get Many (or at the provider's own pages) before you run this again.";

const WORDS: Record<FailureKind, (facts: FailureFacts) => Wording> = {
	invalidInput: ({ field = 'A field', text = 'is not valid' }) => ({
		message: `'${field}' ${text}`,
		description: `Change '${field}'. Nothing was sent to the service.`,
	}),
	unreachable: ({ host, text }) => {
		const words = UNREACHABLE[isReason(text) ? text : 'host'];
		return { message: `${host ?? 'The service'} ${words.message}`, description: words.description };
	},
	noAnswer: ({ host }) => ({
		message: `${host ?? 'The service'} did not answer`,
		description: 'The connection broke or took too long. Try again in a moment.',
	}),
	notTheService: ({ status }) => ({
		message: `The answer does not come from a media generation service${http(status)}`,
		description:
			"Check 'Base URL' in the credential: it must be the address of the API, not of a web page.",
	}),
	redirected: ({ host }) => ({
		message: `The service sends requests on to ${host ?? 'another address'}`,
		description: `The API token is never sent to another address by itself. If that address is right, enter it as 'Base URL' in the credential.`,
	}),
	tokenRefused: (facts) => ({
		// n8n does not retry an activation whose message contains this word.
		message: `The service refused the API token (Authorization header)${said(facts)}`,
		description: "Open the credential and check 'API Token'. Tokens expire and can be revoked.",
	}),
	outOfCredit: (facts) => ({
		message: `The account is out of credit${said(facts)}`,
		description:
			'Add credit with the provider, then run this again. Account → Get shows what is left.',
	}),
	rateLimited: ({ retryAfterMs }) => ({
		message: 'The service received too many requests from this account',
		description: `Wait ${retryAfterMs ? limit(Math.ceil(retryAfterMs / 1000) * 1000) : 'a minute'}, or set 'Concurrency' under Options to a smaller number.`,
	}),
	invalidVoice: (facts) => ({
		message: `The service does not accept this voice${said(facts)}`,
		description: "Pick another voice in 'Voice', or see Voice → Get Many for the valid IDs.",
	}),
	notFound: (facts) => ({
		message: facts.taskId
			? `The service knows no task with this ID${said(facts)}`
			: `The service does not know this address${said(facts)}`,
		description: facts.taskId
			? 'Check the task ID. Tasks can have been deleted, or belong to another account.'
			: "Check 'Base URL' in the credential: it must be the address that the API paths (/v1/…) are added to.",
	}),
	rejected: (facts) => ({
		message: `The service rejected the request${said(facts)}`,
		description: `Change the fields that this is about${http(facts.status)}.`,
	}),
	unavailable: (facts) => ({
		message: `The service is not available${http(facts.status)}${said(facts)}`,
		description: 'This is on the side of the service. Try again later.',
	}),
	taskFailed: (facts) => ({
		message: `The service could not make the speech${said(facts)}`,
		description: 'Change the text, the voice or the model, and run this again: it is a new task.',
	}),
	generationFailed: (facts) => ({
		message: `The service could not make this${said(facts)}`,
		description: 'Change the prompt or the images and run this again: it is a new generation.',
	}),
	tooLarge: (facts) => ({
		message: `The service sent more than can be right${said(facts)}`,
		description:
			"Nothing of it is put out, since the rest would be missing. Ask for less, for instance with a 'Limit' instead of 'Return All', and tell the provider of the service if that does not help.",
	}),
	unclear: () => ({
		message: 'An earlier try sent this and got no clear answer',
		description:
			'It is not sent again by itself, since every accepted request is paid. Run the workflow anew to send it again.',
	}),
	noAddress: ({ limitMs }) => ({
		message: `The task is completed, but the service has not given the address of its file for ${limit(limitMs)}`,
		description: 'The file may come later.',
	}),
	badFile: (facts) => ({
		message: `The file is made, but could not be fetched${said(facts)}`,
		description: facts.taskId ? '' : `It is paid for${whereabouts(facts)}`,
	}),
	streamLost: (facts) => ({
		message: `The service stopped reporting before the result was there${said(facts)}`,
		description:
			'The generation may go on, and it is paid for. Look at History → Get Many before you run this again: it is not sent a second time by itself.',
	}),
	timedOut: ({ limitMs, lastNews }) => ({
		message: `No result after ${limit(limitMs)}${lastNews ? ` (last known: ${lastNews})` : ''}`,
		description:
			"It may still come. Set a longer 'Timeout' under Options if it usually takes longer.",
	}),
	noWebSocket: () => ({
		message: 'This n8n runs on a Node.js without WebSocket',
		description:
			"Run n8n on Node.js 22 or later. Or name the tasks in 'Task IDs': those are looked up.",
	}),
	startsItself: () => ({
		message: 'The workflow has started itself ten times in a row',
		description:
			"Each execution created a speech task, which was paid and started the next one. Turn off 'Include Tasks of This Workflow', name the tasks in 'Task IDs', or create speech in a workflow without this trigger.",
	}),
	canceled: () => ({ message: 'The execution was canceled', description: '' }),
};

/** Message and description of a failure, without item number. Never holds the token. */
export function wordingOf(failure: Failure): Wording {
	const { facts, kind } = failure;
	const words = WORDS[kind](facts);
	const description = [words.description];
	if (facts.ids?.length) {
		description.push(`It is paid, and appears in History → Get Many as ${few(facts.ids)}.`);
	} else if (facts.maybeAccepted) description.push(UNSURE);
	if (facts.taskId !== undefined) {
		words.message += ` – task ${facts.taskId}`;
		if (!['taskFailed', 'notFound'].includes(kind)) {
			description.push(
				`Use Speech → Wait with task ID ${facts.taskId} to collect the result; creating it again is paid again.`,
			);
		}
	}
	if (facts.fileUrl !== undefined && facts.taskId === undefined && kind !== 'badFile') {
		description.push(`The file is made and paid for, and lies at ${facts.fileUrl}`);
	}
	const candidates = facts.candidates?.map(({ id, createdAt }) =>
		createdAt ? `${id} (created ${createdAt})` : id,
	);
	if (candidates?.length) {
		description.push(`These entries of the history may be it: ${few(candidates)}.`);
	}
	return { message: words.message, description: description.filter(Boolean).join(' ') };
}
