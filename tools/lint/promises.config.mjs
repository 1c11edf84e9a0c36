/*
 * Our own rules, which need types: no promise is left alone by accident, and no switch forgets a
 * case. They stand apart from eslint.config.mjs, which holds what n8n's scan checks and nothing else.
 */
import plugin from '@typescript-eslint/eslint-plugin';
import parser from '@typescript-eslint/parser';

const { dirname } = import.meta;

/** Node's test runner awaits these by itself. */
const TESTS = { from: 'package', package: 'node:test', name: ['describe', 'it', 'test'] };

const typed = (files, project) => ({
	files,
	languageOptions: {
		parser,
		parserOptions: { project, tsconfigRootDir: `${dirname}/../..` },
	},
	plugins: { '@typescript-eslint': plugin },
	rules: {
		'@typescript-eslint/await-thenable': 'error',
		'@typescript-eslint/no-floating-promises': ['error', { allowForKnownSafeCalls: [TESTS] }],
		'@typescript-eslint/no-misused-promises': 'error',
		// A `default` says that the cases beside it are meant to be left out.
		'@typescript-eslint/switch-exhaustiveness-check': [
			'error',
			{ considerDefaultExhaustiveForUnions: true },
		],
	},
});

export default [
	{ ignores: ['**/node_modules/**', 'dist/**', 'out/**'] },
	{ linterOptions: { noInlineConfig: true } },
	typed(['nodes/**/*.ts', 'credentials/**/*.ts'], 'tsconfig.json'),
	typed(['{bench,check,demo,simulator,test,tools}/**/*.{ts,mts,mjs}'], 'tsconfig.tools.json'),
];
