/*
 * The rules of n8n's scan of community packages, in the newest version of its plugin. Everything
 * here is in tools/lint, which `npm run lint` installs: those packages cannot all be resolved beside
 * the project's own dependencies.
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const tools = createRequire(new URL('tools/lint/package.json', import.meta.url));
const load = async (name) => await import(pathToFileURL(tools.resolve(name)).href);

const { n8nCommunityNodesPlugin } = await load('@n8n/eslint-plugin-community-nodes');
const { default: nodesBase } = await load('eslint-plugin-n8n-nodes-base');
const { default: parser } = await load('@typescript-eslint/parser');

export default [
	{ ignores: ['dist/**', 'out/**'] },
	// The scan pays no heed to comments that switch a rule off.
	{ linterOptions: { noInlineConfig: true } },
	{ files: ['**/*.ts', '**/*.json'], languageOptions: { parser } },
	n8nCommunityNodesPlugin.configs.recommended,
	{ rules: { 'no-console': 'error' }, plugins: { 'n8n-nodes-base': nodesBase } },
	{ files: ['package.json'], rules: nodesBase.configs.community.rules },
	{
		files: ['credentials/**/*.ts'],
		rules: {
			...nodesBase.configs.credentials.rules,
			// Off in the scan, too: made for n8n's own nodes, or told better by another rule.
			'n8n-nodes-base/cred-class-field-documentation-url-miscased': 'off',
			'n8n-nodes-base/cred-class-field-type-options-password-missing': 'off',
		},
	},
	{
		files: ['nodes/**/*.ts'],
		rules: {
			...nodesBase.configs.nodes.rules,
			'n8n-nodes-base/node-class-description-inputs-wrong-regular-node': 'off',
			'n8n-nodes-base/node-class-description-outputs-wrong': 'off',
			'n8n-nodes-base/node-param-type-options-max-value-present': 'off',
		},
	},
].flat();
