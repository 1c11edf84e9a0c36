/* What n8n's tracing sends to: OpenTelemetry's protocol over HTTP, as far as spans go. */
import { createRequire } from 'node:module';
import { buffer } from 'node:stream/consumers';
import { FakeService } from '../service/fakeService.mts';

const { parse } = createRequire(new URL('../../tools/n8n/package.json', import.meta.url))(
	'protobufjs',
);

/** The part of OpenTelemetry's schema that is read here. */
const SCHEMA = `
	syntax = "proto3";
	message Request { repeated ResourceSpans resource_spans = 1; }
	message ResourceSpans { repeated ScopeSpans scope_spans = 2; }
	message ScopeSpans { repeated Span spans = 2; }
	message Span {
		string name = 5;
		repeated KeyValue attributes = 9;
		repeated Event events = 11;
		Status status = 15;
	}
	message Event { string name = 2; repeated KeyValue attributes = 3; }
	message Status { enum Code { UNSET = 0; OK = 1; ERROR = 2; } Code code = 3; }
	message KeyValue { string key = 1; Value value = 2; }
	message Value {
		oneof value { string text = 1; bool flag = 2; int64 integer = 3; double number = 4; }
	}
`;
const Request = parse(SCHEMA).root.lookupType('Request');

type Attributes = Record<string, unknown>;

export interface Span {
	name: string;
	attributes: Attributes;
	/** Such as an error that was recorded. */
	events: Array<{ name: string; attributes: Attributes }>;
	status: 'UNSET' | 'OK' | 'ERROR';
}

/** Collects spans on a free port of this machine. */
export async function startReceiver() {
	const bodies: Buffer[] = [];
	const service = await FakeService.start((request, response) => {
		void buffer(request).then((body) => {
			bodies.push(body);
			response.end();
		});
	});
	return {
		/** Goes into `N8N_OTEL_EXPORTER_OTLP_ENDPOINT`. */
		endpoint: service.url,
		/** Everything that was received, as it came. */
		bodies,
		/** All spans in it. */
		spans: () => bodies.flatMap(spansIn),
		close: async () => await service.stop(),
	};
}

function spansIn(body: Buffer): Span[] {
	const options = { enums: String, longs: Number, arrays: true };
	const { resourceSpans } = Request.toObject(Request.decode(body), options);
	return resourceSpans
		.flatMap(({ scopeSpans }: any) => scopeSpans)
		.flatMap(({ spans }: any) => spans)
		.map(({ name, attributes, events, status }: any) => ({
			name,
			attributes: attributesOf(attributes),
			events: events.map((event: any) => ({
				name: event.name,
				attributes: attributesOf(event.attributes),
			})),
			status: status?.code ?? 'UNSET',
		}));
}

const attributesOf = (list: any[]): Attributes =>
	Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value ?? {})[0]]));
