import { parseArgs } from 'node:util';
import { scenarioMeanings, startSimulator } from './simulator.mts';

const { values } = parseArgs({
	options: {
		port: { type: 'string', default: '8787' },
		host: { type: 'string', default: '127.0.0.1' },
		token: { type: 'string', default: 'demo-token' },
		pace: { type: 'string', default: '1' },
		credits: { type: 'string' },
		'concurrency-limit': { type: 'string' },
		dialect: { type: 'string', default: '{}' },
		media: { type: 'string', default: 'rendered' },
	},
});

const port = Number(values.port);
const toOptionalNumber = (value: string | undefined) =>
	value === undefined ? undefined : Number(value);
const simulator = await startSimulator({
	...values,
	port,
	filePort: port === 0 ? 0 : port + 1,
	pace: Number(values.pace),
	media: values.media === 'cheap' ? 'cheap' : 'rendered',
	credits: toOptionalNumber(values.credits),
	concurrencyLimit: toOptionalNumber(values['concurrency-limit']),
	dialect: JSON.parse(values.dialect),
});

const scenarioLines = Object.entries(scenarioMeanings).map(
	([name, meaning]) => `  ${`[sim:${name}]`.padEnd(26)}${meaning}`,
);
console.log(`Media generation service, simulated

  Base URL        ${simulator.baseUrl}
  WebSocket URL   ${simulator.webSocketUrl}
  API token       ${simulator.token}
  Files           ${simulator.fileOrigin}

Scenarios, to be written into a text or prompt:
${scenarioLines.join('\n')}

Ctrl+C ends it.`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
	process.once(signal, () => {
		void simulator.close().then(() => process.exit(0));
	});
}
