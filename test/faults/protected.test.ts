/* The rows that need n8n's protection against requests into its own network. */

// n8n reads these settings when it is loaded.
process.env.N8N_SSRF_PROTECTION_ENABLED = 'true';
process.env.N8N_SSRF_ALLOWED_IP_RANGES = '127.0.0.1/32';

const { removeEngineFolder } =
	require('../../demo/engine.mts') as typeof import('../../demo/engine.mts');
const { casesOf, play } = require('./matrix.mts') as typeof import('./matrix.mts');

afterAll(() => removeEngineFolder());

test.concurrent.each(casesOf(({ isProtected }) => isProtected === true))(
	'%s',
	async (_, row, operation, goesOn) => await play(row, operation, goesOn),
);
