import fc from 'fast-check';
import {
	GenerationEvents,
	type GenerationOutcome,
	type GenerationProgress,
} from '../../nodes/shared/parsing/generationEvents';
import { anyBody, anyJson, anyText, inParts, partsOf, type Parts } from './arbitraries';
import { always, SOURCE } from './check';
import { streams } from './corpus';

interface Heard {
	outcome: GenerationOutcome;
	progress: GenerationProgress[];
}

function hear(parts: Uint8Array[], ending: 'end' | 'broken' = 'end'): Heard {
	const progress: GenerationProgress[] = [];
	const events = new GenerationEvents(SOURCE, (news) => progress.push(news));
	for (const part of parts) events.push(part);
	return { outcome: events[ending](), progress };
}

const data = fc.oneof(
	{ weight: 3, arbitrary: anyJson.map((value) => JSON.stringify(value)) },
	anyJson.map((value) => JSON.stringify(JSON.stringify(value))),
	{ weight: 2, arbitrary: anyBody },
	anyText,
);
const name = fc.oneof(
	fc.constantFrom('video_generation_status', 'video_generation_complete', 'error', '_complete'),
	anyText,
);
const line = fc.oneof(
	{ weight: 3, arbitrary: data.map((text) => `data: ${text}`) },
	{ weight: 3, arbitrary: name.map((text) => `event:${text}`) },
	anyText.map((text) => `: ${text}`),
	anyText.map((text) => `id: ${text}`),
	anyText.map((text) => `retry: ${text}`),
	anyText,
	{ weight: 3, arbitrary: fc.constant('') },
);
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const text = fc.oneof(
	{
		weight: 4,
		arbitrary: fc
			.tuple(
				fc.constantFrom('', '', '\ufeff', ' ', '\n', '\r'),
				fc.array(fc.tuple(line, lineEnd), { maxLength: 12 }),
			)
			.map(([start, lines]) => start + lines.flat().join('')),
	},
	anyBody,
);
const utf8 = text.map((characters): Uint8Array => Buffer.from(characters, 'utf8'));

/** Bytes replaced, dropped or put in at some places. */
const mutated = fc
	.tuple(utf8, fc.array(fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 4 }), fc.nat(3))))
	.map(([bytes, changes]) => {
		const list = [...bytes];
		for (const [place, insert, drop] of changes) {
			list.splice(place % (list.length + 1), drop, ...insert);
		}
		return Uint8Array.from(list);
	});

const stream: fc.Arbitrary<Parts> = inParts(
	fc.oneof(
		{ weight: 3, arbitrary: utf8 },
		{ weight: 2, arbitrary: mutated },
		fc.uint8Array({ maxLength: 300 }),
	),
);

function checkOutcome({ outcome, progress }: Heard): void {
	expect(['complete', 'failed', 'page', 'lost']).toContain(outcome.kind);
	if (outcome.kind === 'complete') {
		expect(outcome.files.length).toBeGreaterThan(0);
		for (const { fileUrl } of outcome.files) {
			expect(['http:', 'https:']).toContain(new URL(fileUrl).protocol);
		}
	}
	if (outcome.kind === 'lost') expect(outcome.text).not.toBe('');
	if (outcome.kind === 'failed' && outcome.text !== undefined) {
		expect(outcome.text.trim()).not.toBe('');
		expect(outcome.text.length).toBeLessThanOrEqual(2000);
	}
	for (const { status, id } of progress) {
		expect(status.trim()).not.toBe('');
		expect(status.length).toBeLessThanOrEqual(500);
		expect(id).not.toBe('');
		expect((id ?? '').length).toBeLessThanOrEqual(500);
	}
}

describe('whatever comes as a stream', () => {
	it('ends in an outcome that can be told, and progress that can be shown', () => {
		always(
			fc.tuple(stream, fc.constantFrom('end' as const, 'broken' as const)),
			{
				normal: 400,
				examples: streams.map((bytes): [Parts, 'end'] => [{ bytes, cuts: [] }, 'end']),
			},
			([parts, ending]) => checkOutcome(hear(partsOf(parts), ending)),
		);
	});

	it('means the same however it is cut', () => {
		always(
			stream,
			{ normal: 400, examples: streams.map((bytes) => ({ bytes, cuts: [1, 7, 20] })) },
			(parts) => {
				const whole = hear([parts.bytes]);
				expect(hear(partsOf(parts))).toEqual(whole);
				const single = [...parts.bytes.subarray(0, 2000)].map((byte) => Uint8Array.of(byte));
				expect(hear([...single, parts.bytes.subarray(2000)])).toEqual(whole);
			},
		);
	});
});
