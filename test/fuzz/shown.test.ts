import fc from 'fast-check';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { anyJson, anyText } from './arbitraries';
import { always } from './check';
import { tokensAndValues } from './corpus';

/* The token is in nothing that is put out. In errors: test/faults/secrets.test.ts. */

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
