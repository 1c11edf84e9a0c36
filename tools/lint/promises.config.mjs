/*
 * Our own rules for ESLint, which need types. They find promises that nobody awaits, and `switch` statements that lack
 * a case. They are not in eslint.config.mjs, because that file contains only the rules of n8n's scan.
 */
import plugin from '@typescript-eslint/eslint-plugin';
import parser from '@typescript-eslint/parser';

const { dirname } = import.meta;

/** The functions whose promises Node's test runner awaits itself. */
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
		// A `switch` with a `default` lacks the other cases on purpose.
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
