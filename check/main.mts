/* `npm run check`: checks and records a deployment of the service, or replays a recording. See docs/check.md. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { confirm, password } from '@inquirer/prompts';
import { startSimulator } from '../simulator/simulator.mts';
import { check, reportOf } from './check.mts';
import { PAID, type Credential, type Session } from './operations.mts';
import { shared } from './shared.mts';
import { fileNameOf, toJson, type Recording } from './recording.mts';
import { replay } from './replay.mts';
import { EXIT, gradeOf, tableOf, verdictOf } from './report.mts';

const folder = join(import.meta.dirname, '../recordings');
const isAsked = process.stdin.isTTY && process.stderr.isTTY;
const onStep = (what: string) => console.error(`… ${what}`);

/** Is called once the command has to end: by a signal, or by a mistake outside of promises. */
let stop = (): void => process.exit(EXIT.notDone);
for (const event of ['SIGINT', 'SIGTERM', 'uncaughtException'])
	process.on(event, (error: unknown) => {
		if (error instanceof Error) console.error(error);
		stop();
	});

try {
	process.exitCode = await main();
} catch (error) {
	// Only a mistake in this code needs its stack.
	const isMistake = error instanceof TypeError && !('code' in error);
	console.error(isMistake ? error : (error as Error).message);
	process.exitCode = EXIT.notDone;
}
// Otherwise a connection that the other side never closes would keep the process alive.
process.exit();

async function main(): Promise<number> {
	const text = { type: 'string' } as const;
	const isSet = { type: 'boolean' } as const;
	const urls = { 'base-url': text, 'web-socket-url': text, 'allow-http': isSet };
	const { values } = parseArgs({ options: { ...urls, pay: text, replay: text } });
	if (values.replay !== undefined) return await playAgain(values.replay);
	const names: string[] = values.pay?.match(/[^\s,]+/g) ?? [];
	const unknown = names.filter((name) => !Object.hasOwn(PAID, name));
	if (unknown.length > 0)
		throw new Error(`--pay knows ${Object.keys(PAID).join(', ')}, not ${unknown.join(', ')}.`);
	const pay = Object.keys(PAID).filter((name) => names.includes(name));
	if (values['base-url'] === undefined) {
		const { baseUrl, webSocketUrl, token } = await startSimulator({ pace: 0.5 });
		console.log(`No --base-url: checking the simulator at ${baseUrl}.\n`);
		return await run({ baseUrl, webSocketUrl, apiToken: token }, pay);
	}
	const credential = readCredential({
		...{ baseUrl: values['base-url'], webSocketUrl: values['web-socket-url'] },
		...{ allowHttp: values['allow-http'], apiToken: await askForToken() },
	});
	if (pay.length > 0) await askToPay(pay, credential.baseUrl);
	return await run(credential, pay);
}

async function askForToken(): Promise<string> {
	const token = process.env.MEDIA_GENERATION_TOKEN;
	if (token !== undefined) return token;
	if (isAsked) return await password({ message: 'API token (it is not shown):' });
	throw new Error('Without a terminal, set MEDIA_GENERATION_TOKEN to the API token.');
}

/**
 * Reads the URLs and the token as the node does. Throws an Error if one of them is invalid. A token of fewer than six
 * characters is refused, because it could not be told apart from words, nor redacted.
 */
function readCredential(fields: Partial<Credential>): Credential {
	if (fields.apiToken!.length < 6) throw new Error('The API token is too short.');
	try {
		return { ...shared.readCredential({ ...fields }), allowHttp: fields.allowHttp };
	} catch (error) {
		const { field, reason } = (error as { facts: { field: string; reason: string } }).facts;
		throw new Error(`'${field}' ${reason.replace(/turn on .*/, 'add --allow-http')}.`);
	}
}

async function askToPay(pay: string[], baseUrl: string): Promise<void> {
	if (!isAsked) throw new Error('With --pay, the command asks first: run it in a terminal.');
	console.log(`This will be charged to your account at ${baseUrl}, each once:`);
	for (const name of pay)
		console.log(`  one ${PAID[name]!.contractRow.kind} (${name}): ${PAID[name]!.text}`);
	if (!(await confirm({ message: 'Send it?', default: false })))
		throw new Error('Nothing was sent.');
}

async function run(credential: Credential, pay: string[]): Promise<number> {
	const session: Session = { credential, runs: [], onStep };
	// npm and the terminal both send a signal, and the second one must not end the report.
	const stopped = new Promise<true>((resolve) => {
		stop = () => resolve(true);
	});
	// A mistake in this code must not hide what may have been charged, either.
	const done = check(session, pay).catch((error: unknown) => (console.error(error), true));
	const isStopped = await Promise.race([done, stopped]);
	const { rows, recording, replaced, charged } = reportOf(session);
	console.log(tableOf(rows, process.stdout.columns || 120));
	console.log(`\n${isStopped ? 'Stopped.' : verdictOf(rows)}`);
	if (charged.length > 0) console.log(`\nMay have been charged: ${charged.join(', ')}.`);
	const file = join(folder, fileNameOf(credential.baseUrl, recording.startedAt));
	const text = toJson(recording, credential.apiToken);
	mkdirSync(folder, { recursive: true });
	writeFileSync(file, text);
	console.log(`
Recorded in ${relative(process.cwd(), file)} (${Math.ceil(text.length / 1000)} kB), without the token.
Replaced by stand-ins: ${replaced.join(', ') || 'nothing'}. Read it before you share it.`);
	return isStopped ? EXIT.notDone : EXIT[gradeOf(rows)];
}

async function playAgain(file: string): Promise<number> {
	const recording = shared.parseJson(readFileSync(file, 'utf8')) as Recording | undefined;
	if (recording?.format !== 5) throw new Error(`${file} is not a recording of this command.`);
	const lines = await replay(recording, onStep);
	console.log(lines.join('\n') || 'The node does the same as when it was recorded.');
	return lines.length > 0 ? EXIT.limits : EXIT.works;
}
