import { Readable } from 'node:stream';
import fc from 'fast-check';
import type { ICredentialsDecrypted, ICredentialTestFunctions } from 'n8n-workflow';
import { testMediaGenerationApi } from '../../nodes/shared/n8n/credentialTest';
import { matches, voiceEntry } from '../../nodes/MediaGeneration/listSearch/searchVoices';
import { isRecord } from '../../nodes/shared/parsing/coerce';
import { anyBody, anyJson, anyText, recordOf } from './arbitraries';
import { always, alwaysAsync, BASE } from './check';
import { bodies, values } from './corpus';

/* What the editor shows of the service's answers. */

const TOKEN = 'sk-secret/0123+456=';

describe('the picker of voices', () => {
	it('shows any record of a voice by a name and an id, or not at all', () => {
		always(
			fc.tuple(recordOf(anyJson), anyText),
			{ examples: values.filter(isRecord).map((value): [typeof value, string] => [value, 'x']) },
			([voice, filter]) => {
				const entry = voiceEntry(voice);
				expect([true, false]).toContain(matches(voice, filter));
				if (!entry) return;
				expect(entry.name).not.toBe('');
				expect(entry.value).not.toBe('');
				expect(entry.name).not.toMatch(/^\[object Object\]$/);
			},
		);
	});
});

describe('the test of the credential', () => {
	it('says in plain words what any answer means, and never the token', async () => {
		const thrown = fc.oneof(
			fc
				.constantFrom('ECONNREFUSED', 'ENOTFOUND', 'CERT_HAS_EXPIRED', 'x')
				.map((code) => ({ code })),
			anyText.map((text) => new Error(text)),
			anyJson,
		);
		const answer = fc.record({
			statusCode: fc.integer({ min: 100, max: 599 }),
			isText: fc.boolean(),
			body: fc.oneof(
				anyBody,
				anyJson,
				anyText.map((text) => `${text}${TOKEN}`),
			),
		});
		await alwaysAsync(
			fc.oneof({ weight: 4, arbitrary: fc.record({ answer }) }, fc.record({ thrown })),
			{
				normal: 150,
				examples: bodies.map((body) => ({ answer: { statusCode: 200, isText: false, body } })),
			},
			async (outcome) => {
				const context = {
					helpers: {
						async request() {
							if ('thrown' in outcome) throw outcome.thrown;
							// n8n hands out the body as a stream; some versions that of an error as a text.
							const { statusCode, body, isText } = outcome.answer;
							const text = typeof body === 'string' ? body : JSON.stringify(body);
							const stream = Readable.from([Buffer.from(text)], { objectMode: false });
							return { statusCode, body: isText && statusCode >= 400 ? body : stream };
						},
					},
				} as unknown as ICredentialTestFunctions;
				const data = { apiToken: TOKEN, baseUrl: BASE };
				const credential = { id: '1', name: 'c', type: 'mediaGenerationApi', data };
				const result = await testMediaGenerationApi.call(
					context,
					credential as unknown as ICredentialsDecrypted,
				);
				expect(['OK', 'Error']).toContain(result.status);
				expect(result.message).toMatch(/^.{10,3000}$/su);
				expect(result.message).not.toContain(TOKEN);
			},
		);
	});
});
