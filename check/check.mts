/* Checks one service: sends the requests that cost nothing, runs the node, and records every exchange. */
import { askMore } from './ask.mts';
import { FREE_OPERATIONS, makesSpeech, PAID, runAll, STOPPED, type Run } from './operations.mts';
import { redactorOf, StandIns, type Recording } from './recording.mts';
import type { Row } from './report.mts';
import { blockedRows, chargeLines, freeRows, paidRows, voiceIn } from './rows.mts';
import { Wire } from './wire.mts';

/** The texts and prompts that the check itself sends. They identify nobody, so the recording keeps them. */
const OWN_TEXTS = Object.values(PAID).map(({ text }) => text);

export interface Service {
	baseUrl: string;
	webSocketUrl: string;
	token: string;
}

interface CheckResult {
	/** The error that ended the check early; undefined if nothing did. */
	failure?: unknown;
	rows: Row[];
	recording: Recording;
	/** How many values were replaced in the recording, for each kind. */
	replaced: string[];
	/** The requests that may have been charged, each with its kind and ids. */
	charged: string[];
}

/**
 * Lets the node run the free operations and those named in `pay` (unless the first answers show that this is
 * pointless), asks what the node does not ask, and records all exchanges. `onStep` is called with a name for each step.
 *
 * Rejects if the check fails or is stopped before it pays. Later, resolves with the error as `failure`, so that
 * whatever may have been charged is still recorded and named.
 */
export async function check(
	{ baseUrl, webSocketUrl, token }: Service,
	pay: string[],
	onStep: (what: string) => void,
	stop = new AbortController().signal,
): Promise<CheckResult> {
	const madeAt = new Date().toISOString();
	const wire = new Wire();
	const { exchanges } = wire;
	try {
		const credential = {
			apiToken: token,
			baseUrl: await wire.localUrlOf(baseUrl),
			webSocketUrl: (await wire.localUrlOf(webSocketUrl)).replace('http', 'ws'),
		};
		const before = (operation: string) => {
			wire.cutStreams = operation === 'dropped';
			onStep(`the node: ${operation}`);
		};
		const plan = { service: wire, stop, before };
		const runs: Run[] = [];
		let rows: Row[] = [];
		for await (const run of runAll({ ...plan, operations: FREE_OPERATIONS }, credential)) {
			stop.throwIfAborted();
			runs.push(run);
			rows = blockedRows(runs, exchanges);
			if (rows.length > 0) break;
		}
		const voice = voiceIn(runs);
		let failure: unknown;
		if (rows.length === 0) {
			wire.by = 'check';
			onStep('other pages, a wrong token, and ten seconds of WebSocket');
			const asked = await askMore(wire, credential, runs, stop);
			wire.by = 'node';
			const payable = pay.filter((name) => !makesSpeech(name) || voice !== undefined);
			const attempt = async (act: () => Promise<void>) =>
				await act().catch((error: unknown) => (failure ??= error));
			await attempt(async () => {
				const paid = { ...plan, operations: payable, voice };
				for await (const run of runAll(paid, credential)) runs.push(run);
				stop.throwIfAborted();
			});
			await wire.close();
			await attempt(async () => {
				rows = [...freeRows(runs, asked, exchanges), ...paidRows(runs, exchanges, pay)];
			});
		}
		const standIns = new StandIns(token, OWN_TEXTS);
		const anonymized = standIns.exchanges(exchanges);
		const ended = runs.filter(({ lines }) => !lines.includes(STOPPED));
		const recording: Recording = {
			...{ format: 1, made: madeAt, voice: voice && standIns.id(voice) },
			outcomes: ended.map(({ operation, lines }) => ({
				operation,
				lines: lines.map(standIns.line),
			})),
			exchanges: anonymized,
		};
		const redact = redactorOf(token);
		const charged = chargeLines(exchanges).map(redact.text);
		return { failure, rows: redact.value(rows), recording, replaced: standIns.counts(), charged };
	} finally {
		await wire.close();
	}
}
