import type { FaultAction } from '../../simulator/simulator.mts';
import { formsOf } from './canary.mts';
import { answer, CREATING, event, GENERATIONS } from './row.mts';
import { OPERATIONS, type Operation, type Setting, type Stage } from './stage.mts';

type Say = (token: string, stage: Stage) => FaultAction;

export interface Echo {
	/** The failure that it becomes, by its words. */
	says: RegExp;
	operations: readonly Operation[];
	/** What the service answers to the create call, to readings, or for files. */
	create?: Say;
	read?: Say;
	file?: Say;
	setting?: Setting;
}

/** The token in the forms in which a service would say it. */
export const echo = (token: string) => formsOf(token).slice(0, 3).join(' and ');
const refusal =
	(status: number, text: string): Say =>
	(token) =>
		answer(status, { error: `${text} ${echo(token)}` }).action;
const stream =
	(make: (token: string) => string): Say =>
	(token) => ({ sse: [make(token), { delayMs: 20 }, 'END'] });

/** One for each kind of failure that can come of what a service says. */
export const ECHOES: Record<string, Echo> = {
	tokenRefused: every(401, 'Bad token', /refused the API token/),
	outOfCredit: every(402, 'no credit for', /out of credit/),
	rejected: every(400, 'odd request of', /rejected the request/),
	unavailable: every(500, 'crash for', /not available/),
	notFound: every(404, 'nothing of', /does not recognize|has no task/),
	invalidVoice: {
		says: /does not accept this voice/,
		operations: ['speech:speak'],
		create: refusal(400, 'invalid voice for'),
	},
	rateLimited: {
		says: /too many requests/,
		operations: CREATING,
		create: (token) => {
			const headers = { 'Retry-After': '99', 'X-Token': token };
			return answer(429, { error: `slow down, ${echo(token)}` }, headers).action;
		},
		setting: { options: { timeout: 15 } },
	},
	notTheService: {
		says: /not come from a media generation service/,
		operations: CREATING,
		create: (token) => answer(200, `<html>${echo(token)}</html>`).action,
	},
	redirected: {
		says: /redirects to/,
		operations: CREATING,
		create: (token) => ({
			redirect: `https://elsewhere.example/?token=${encodeURIComponent(token)}`,
		}),
	},
	taskFailed: {
		says: /could not generate the speech/,
		operations: ['speech:speak', 'speech:wait'],
		read: (token) => answer(200, { id: 1, status: 'error', error: echo(token) }).action,
	},
	generationFailed: {
		says: /could not generate this/,
		operations: GENERATIONS,
		create: stream((token) => event('error', { code: token, error: `refused ${echo(token)}` })),
	},
	streamLost: {
		says: /stopped reporting/,
		operations: GENERATIONS,
		create: stream((token) => event('status', { status: echo(token), id: token })),
		read: (token, { sim }) => {
			const body = [1, 2].map((n) => ({
				id: `${token}-${n}`,
				prompt: 'A lighthouse in the rain',
				file_url: `${sim.fileOrigin}/files/${encodeURIComponent(token)}.mp4`,
				created_at: new Date(Date.now() + 5000).toISOString(),
				type: '',
			}));
			return answer(200, body).action;
		},
		setting: { options: { timeout: 6 } },
	},
	timedOut: {
		says: /No result after 2 seconds/,
		operations: ['speech:speak', 'speech:wait'],
		read: (token) => answer(200, { id: 1, status: `${token} is busy` }).action,
		setting: { options: { timeout: 2 } },
	},
	badFile: {
		says: /could not be downloaded/,
		operations: ['speech:speak', 'speech:get', ...GENERATIONS, 'history:getAll'],
		file: refusal(410, 'expired for'),
	},
	invalidInput: {
		says: /^'Timeout' must be/,
		operations: CREATING,
		setting: { options: { timeout: 'soon' } },
	},
};

/** Every operation is refused so. */
function every(status: number, text: string, says: RegExp): Echo {
	const say = refusal(status, text);
	return { says, operations: OPERATIONS, create: say, read: say };
}
