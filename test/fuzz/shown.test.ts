import fc from 'fast-check';
import { NodeApiError, NodeOperationError, type INode } from 'n8n-workflow';
import { Failure, type FailureFacts, type FailureKind } from '../../nodes/shared/failure';
import { toNodeError } from '../../nodes/shared/n8n/nodeErrors';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { findToken } from '../faults/canary.mts';
import { saved } from '../faults/check.mts';
import { anAddress, anyJson, anyText } from './arbitraries';
import { always } from './check';
import { tokensAndValues } from './corpus';

/* What a person reads and enters. */

const TOKEN = 'sk-secret/0123+456=';
const node = { name: 'Media Generation', parameters: {} } as INode;

/** A text of the service as the readers hand it on, at times with the token in it. */
const said = fc
	.tuple(
		anyText.map((text) => text.slice(0, 500)),
		fc.constantFrom('', TOKEN, encodeURIComponent(TOKEN)),
	)
	.map((parts) => parts.join(''));
const address = anAddress.map((url) => url.slice(0, 2000));
const figure = fc.constantFrom(0, 1, 503, 1000, 60_000);
const facts: fc.Arbitrary<FailureFacts> = fc.record(
	{
		field: said,
		text: said,
		status: figure,
		host: said,
		retryAfterMs: figure,
		limitMs: figure,
		maybeAccepted: fc.boolean(),
		taskId: said,
		fileUrl: fc.oneof(address, said),
		otherFiles: fc.array(address, { maxLength: 4 }),
		lastNews: said,
		ids: fc.array(said, { maxLength: 8 }),
		candidates: fc.array(fc.record({ id: said, createdAt: said }), { maxLength: 8 }),
	},
	{ requiredKeys: [] },
);
const KINDS: FailureKind[] = [
	...(['invalidInput', 'badImage', 'rateLimited', 'notFound', 'rejected'] as const),
	...(['unavailable', 'taskFailed', 'generationFailed', 'unclear', 'badFile'] as const),
	...(['streamLost', 'timedOut', 'canceled'] as const),
];
const failure = fc.record({ kind: fc.constantFrom(...KINDS), facts });

/** Words that show a mistake in the program, unless the service said them itself. */
const SLIPS = ['undefined', 'null', 'NaN', 'Infinity', '[object', 'function'];

test('any failure is an error of n8n in plain words, without the token, with its item', () => {
	always(fc.tuple(failure, said), { normal: 300 }, ([{ kind, facts: known }, note]) => {
		const place = { node, itemIndex: 3, redact: redactor(TOKEN), note };
		const error = toNodeError(new Failure(kind, known), place);
		expect(error instanceof NodeApiError || error instanceof NodeOperationError).toBe(true);
		expect(findToken(TOKEN, { error: saved(error) })).toBeUndefined();
		expect(error.message).toMatch(/\S.* \[item 3\]$/s);
		const given = JSON.stringify({ ...known, note });
		const words = `${error.message} ${error.description}`;
		expect(SLIPS.filter((slip) => words.includes(slip) && !given.includes(slip))).toEqual([]);
		expect(words.length).toBeLessThan(30_000);
	});
});

/** The same text as it stands in addresses and in JSON. */
const encodings = (text: string) => [
	text,
	encodeURIComponent(text),
	encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
	new URLSearchParams({ t: text }).toString().slice(2),
	JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
];
const characterOf = (code: number) => String.fromCharCode(code);
const token = fc.oneof(
	fc.string({ unit: fc.integer({ min: 0x21, max: 0x5b }).map(characterOf), minLength: 6 }),
	fc.string({ unit: fc.constantFrom('a', '*', '%', '2', '5', '+'), minLength: 6, maxLength: 9 }),
);
/** JSON that holds the token here and there, in keys and texts, encoded in some way. */
const holding = token.chain((apiToken) => {
	const part = fc.oneof(fc.constantFrom(...encodings(apiToken), apiToken.slice(0, 3)), anyText);
	const text = fc.array(part, { maxLength: 4 }).map((parts) => parts.join(''));
	const value = fc.tuple(text, fc.dictionary(text, fc.oneof(text, anyJson), { maxKeys: 3 }));
	return fc.record({ apiToken: fc.constant(apiToken), value });
});

/** All texts in a value, keys included. */
const textsOf = (value: unknown): string[] =>
	typeof value === 'string'
		? [value]
		: Object.entries((value as object | null) ?? {})
				.flat()
				.flatMap(textsOf);

test('nothing that is put out holds the token, and what does not hold it is left alone', () => {
	always(holding, { examples: tokensAndValues as never[], normal: 250 }, ({ apiToken, value }) => {
		const redact = redactor(apiToken);
		const clean = redact.value(value);
		const forms = encodings(apiToken);
		for (const text of textsOf(clean)) {
			expect(forms.filter((form) => text.includes(form))).toEqual([]);
		}
		expect(redact.value(clean)).toEqual(clean);
		const without = JSON.parse(JSON.stringify(value).replaceAll(/q/gi, '')) as unknown;
		expect(redactor(`Q${apiToken}`).value(without)).toEqual(without);
	});
});
