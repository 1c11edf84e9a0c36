import fc from 'fast-check';
import { NodeApiError, NodeOperationError, type INode } from 'n8n-workflow';
import { Failure, type FailureFacts, type FailureKind } from '../../nodes/shared/failure';
import { wordingOf } from '../../nodes/shared/n8n/messages';
import { toNodeError } from '../../nodes/shared/n8n/nodeErrors';
import { asText, isRecord } from '../../nodes/shared/parsing/coerce';
import { redactor } from '../../nodes/shared/parsing/redaction';
import { findToken } from '../faults/canary.mts';
import { saved } from '../faults/check.mts';
import { anAddress, anyJson, anyText } from './arbitraries';
import { always } from './check';
import { failures, thrown } from './corpus';

const NODE: INode = {
	id: '1',
	name: 'Media Generation',
	type: 'n8n-nodes-media-generation.mediaGeneration',
	typeVersion: 1,
	position: [0, 0],
	parameters: {},
};
const TOKEN = 'sk-secret/0123+456=';

/** Every kind there is: the compiler sees to it. */
const KINDS = Object.keys({
	...{ invalidInput: 1, badImage: 1, unreachable: 1, noAnswer: 1, notTheService: 1, redirected: 1 },
	...{ tokenRefused: 1, outOfCredit: 1, rateLimited: 1, invalidVoice: 1, notFound: 1 },
	...{ rejected: 1, unavailable: 1, taskFailed: 1, generationFailed: 1, unclear: 1 },
	...{ tooLarge: 1, noAddress: 1, badFile: 1, streamLost: 1, timedOut: 1, noWebSocket: 1 },
	...{ noHistory: 1, startsItself: 1, canceled: 1 },
} satisfies Record<FailureKind, 1>) as FailureKind[];

/** A text of the service as the readers hand it on, at times with the token in it. */
const said = fc
	.tuple(
		anyText.map((text) => text.slice(0, 500)),
		fc.constantFrom('', TOKEN, encodeURIComponent(TOKEN)),
	)
	.map((parts) => parts.join(''));
const address = anAddress.map((url) => url.slice(0, 2000));
const figure = fc.oneof(
	fc.constantFrom(0, 1, 0.5, 60_000, -1, 1e21, NaN, Infinity),
	fc.double({ min: 0, max: 1e7 }),
);
const facts: fc.Arbitrary<FailureFacts> = fc.record(
	{
		field: said,
		text: said,
		status: fc.oneof(fc.integer({ min: 0, max: 999 }), figure),
		host: said,
		retryAfterMs: figure,
		seconds: figure,
		maybeAccepted: fc.boolean(),
		transient: fc.boolean(),
		taskId: said,
		fileUrl: fc.oneof(address, said),
		otherFiles: fc.array(address, { maxLength: 4 }),
		lastNews: said,
		candidates: fc.array(
			fc.record({ id: said, createdAt: said, prompt: said }, { requiredKeys: ['id'] }),
			{ maxLength: 8 },
		),
	},
	{ requiredKeys: [] },
);
const failure = fc.record({ kind: fc.constantFrom(...KINDS), facts });

/** Words that show a mistake in the program, unless the service said them itself. */
const SLIPS = ['undefined', 'null', 'NaN', 'Infinity', '[object', 'function'];

function checkWords(text: string, source: unknown) {
	const given = JSON.stringify(source) ?? '';
	for (const slip of SLIPS) {
		if (!given.includes(slip)) expect(text).not.toContain(slip);
	}
	expect(text.length).toBeLessThan(30_000);
}

describe('whatever went wrong', () => {
	it('is told in words', () => {
		always(failure, { examples: failures, normal: 400 }, ({ kind, facts: known }) => {
			const { message, description } = wordingOf(new Failure(kind, known));
			expect(message.trim()).not.toBe('');
			// Figures that are none become null in JSON.
			const given = { ...known, status: 0, seconds: 0, retryAfterMs: 0 };
			checkWords(`${message} ${description}`, given);
		});
	});

	it('is an error of n8n, without the token, with the number of its item', () => {
		always(
			fc.tuple(failure, fc.option(fc.nat(50), { nil: undefined }), said),
			{
				examples: failures.map((each): [typeof each, number, string] => [each, 0, '']),
				normal: 200,
			},
			([{ kind, facts: known }, itemIndex, note]) => {
				const error = toNodeError(new Failure(kind, known), {
					node: NODE,
					itemIndex,
					redact: redactor(TOKEN),
					note,
				});
				expect(error instanceof NodeApiError || error instanceof NodeOperationError).toBe(true);
				expect(findToken(TOKEN, { error: saved(error) })).toBeUndefined();
				if (itemIndex !== undefined) expect(error.message).toMatch(/ \[item \d+\]$/);
			},
		);
	});

	it('is an error of n8n with words whatever was thrown', () => {
		const anything = fc.oneof(
			fc.anything({ withNullPrototype: true, withObjectString: true, withBigInt: true }),
			anyJson,
			said.map((message) => new Error(message)),
			said.map((message) => new TypeError(message)),
			anyJson.map((message) => Object.assign(new Error(), { message })),
			fc.constant(Symbol('thrown')),
		);
		always(anything, { examples: thrown, normal: 400 }, (error) => {
			const made = toNodeError(error, { node: NODE, itemIndex: 3, redact: redactor(TOKEN) });
			expect(made instanceof NodeApiError || made instanceof NodeOperationError).toBe(true);
			expect(typeof made.message).toBe('string');
			expect(made.message.trim()).not.toBe('');
			const given = isRecord(error) ? asText(error.message) : asText(error);
			if (given === undefined)
				expect(made.message).toMatch(/^Something unexpected went wrong in this node/);
			expect(made.message.length).toBeLessThan(5000);
			expect(findToken(TOKEN, { message: made.message })).toBeUndefined();
		});
	});
});
