/* `npm run check`: how a deployment of the service is, asked, recorded or replayed. docs/check.md */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { confirm, password } from '@inquirer/prompts';
import ora from 'ora';
import { startSimulator } from '../simulator/simulator.mts';
import { check } from './check.mts';
import { PAID } from './operations.mts';
import type { Service } from './questions.mts';
import { fileNameOf, written, type Recording } from './recording.mts';
import { replay } from './replay.mts';
import { EXIT, gradeOf, tableOf, verdictOf } from './report.mts';

const folder = join(import.meta.dirname, '../recordings');
/** Where nothing leaves the machine. */
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;
const isAsked = process.stdin.isTTY && process.stderr.isTTY;
const spinner = ora({ stream: process.stderr });
const say = (what: string) => {
	if (!spinner.isSpinning) spinner.start();
	if (isAsked) spinner.text = what;
	else console.error(`- ${what}`);
};

/** Why the check cannot be done; shown without a stack. */
class Refusal extends Error {}

try {
	process.exitCode = await main();
} catch (error) {
	spinner.stop();
	const isOurs =
		error instanceof Refusal ||
		/ERR_PARSE_ARGS|ENOENT/.test(String((error as NodeJS.ErrnoException).code));
	const isStopped = (error as Error).name === 'ExitPromptError';
	console.error(
		isOurs ? (error as Error).message : isStopped ? 'Stopped: nothing was sent.' : error,
	);
	process.exitCode = EXIT.notDone;
}
// A connection that the other side never closes must not keep the command.
process.exit();

async function main(): Promise<number> {
	const text = { type: 'string' } as const;
	const { values } = parseArgs({
		options: { 'base-url': text, 'web-socket-url': text, pay: text, replay: text },
	});
	if (values.replay !== undefined) return await playAgain(values.replay);
	const pay = (values.pay ?? '')
		.split(',')
		.map((name) => name.trim())
		.filter(Boolean);
	const unknown = pay.filter((name) => !Object.hasOwn(PAID, name));
	if (unknown.length > 0)
		throw new Refusal(`--pay knows ${Object.keys(PAID).join(', ')}, not ${unknown.join(', ')}.`);

	if (values['base-url'] !== undefined) {
		const addresses = addressesOf(values['base-url'], values['web-socket-url']);
		const token = await tokenOf();
		if (pay.length > 0) await askToPay(pay, addresses.baseUrl);
		return await run({ ...addresses, token }, pay);
	}
	const simulator = await startSimulator({ pace: 0.5 });
	console.log(`No --base-url: the simulator is checked, at ${simulator.baseUrl}.\n`);
	try {
		return await run(simulator, pay);
	} finally {
		await simulator.close();
	}
}

/** The addresses as the credential reads them: without `/v1` and `/ws`. */
function addressesOf(base: string, socket?: string): Omit<Service, 'token'> {
	const read = (name: string, value: string, schemes: RegExp, tail: RegExp) => {
		const url = URL.parse(value.trim());
		if (
			!url ||
			!schemes.test(url.protocol) ||
			url.search ||
			url.hash ||
			url.username ||
			url.password
		) {
			throw new Refusal(
				`${name} must be an address like ${name === '--base-url' ? 'https' : 'wss'}://media.example.com, with no password, "?" or "#".`,
			);
		}
		if (/^(?:http|ws):$/.test(url.protocol) && !LOOPBACK.test(url.hostname)) {
			throw new Refusal(`${name} must be encrypted: the token could be read on the network.`);
		}
		const path = url.pathname.replace(/\/+$/, '').replace(tail, '').replace(/\/+$/, '');
		return (
			url.protocol.replace('http', tail.source.includes('ws') ? 'ws' : 'http') +
			`//${url.host}${path}`
		);
	};
	const baseUrl = read('--base-url', base, /^https?:$/, /\/v1$/i);
	const given = socket?.trim() || new URL(baseUrl).origin;
	return { baseUrl, webSocketUrl: read('--web-socket-url', given, /^(?:https?|wss?):$/, /\/ws$/i) };
}

async function tokenOf(): Promise<string> {
	const given = process.env.MEDIA_GENERATION_TOKEN;
	if (given === undefined && !isAsked)
		throw new Refusal(
			'Put the API token into MEDIA_GENERATION_TOKEN: there is no terminal to ask at.',
		);
	const raw = given ?? (await password({ message: 'API token (it is not shown):' }));
	const token = raw.trim().replace(/^(?:authorization\s*:\s*)?bearer\s+/i, '');
	if (!/^[\x21-\x7e]{6,}$/.test(token))
		throw new Refusal('The API token is empty, shorter than six characters, or not in one piece.');
	return token;
}

async function askToPay(pay: string[], baseUrl: string): Promise<void> {
	if (!isAsked) throw new Refusal('--pay costs, so it asks first: run it at a terminal.');
	console.log(`This will be charged to your account at ${baseUrl}, each once:`);
	for (const name of pay) console.log(`  ${name}: ${PAID[name]}`);
	if (!(await confirm({ message: 'Send it?', default: false })))
		throw new Refusal('Nothing was sent.');
}

async function run(service: Service, pay: string[]): Promise<number> {
	const { rows, recording, replaced } = await check(service, pay, say);
	spinner.stop();
	console.log(tableOf(rows, process.stdout.columns ?? 120));
	console.log(`\n${verdictOf(rows)}\n`);
	const file = join(folder, fileNameOf(service.baseUrl, recording.made));
	const text = written(recording, service.token);
	mkdirSync(folder, { recursive: true });
	writeFileSync(file, text);
	console.log(`Recorded in ${relative(process.cwd(), file)} (${Math.ceil(text.length / 1000)} kB), without the token.
Replaced by stand-ins: ${replaced.join(', ') || 'nothing'}. Read it before you share it.`);
	return EXIT[gradeOf(rows)];
}

async function playAgain(file: string): Promise<number> {
	const recording = JSON.parse(readFileSync(file, 'utf8')) as Recording;
	const lines = await replay(recording, (operation) => say(operation));
	spinner.stop();
	console.log(
		lines.length > 0
			? lines.join('\n')
			: `The node makes the same of it: ${recording.operations.join(', ')}.`,
	);
	return lines.length > 0 ? EXIT.limits : EXIT.works;
}
