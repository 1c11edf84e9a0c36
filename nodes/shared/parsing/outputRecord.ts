import type { ServiceRecord } from '../contract';
import { isInlineFile } from './responses';
import { asId, asNumber, asText, isRecord } from './values';

/* Converts the records of the service to the JSON of output items. */

/** Returns a value without the inline files in it. */
export function withoutInlineFiles(value: unknown): unknown {
	if (isInlineFile(value)) return undefined;
	if (Array.isArray(value))
		return value.map(withoutInlineFiles).filter((entry) => entry !== undefined);
	if (!isRecord(value)) return value;
	const fields = Object.entries(value).map(
		([key, entry]) => [key, withoutInlineFiles(entry)] as const,
	);
	return Object.fromEntries(fields.filter(([, entry]) => entry !== undefined));
}

/** Converts ids to strings and the percentage to a number, for the output. Leaves out invalid ones and undefined fields. */
export function toOutputRecord(record: ServiceRecord): ServiceRecord {
	const outputValue = (key: string, value: unknown) => {
		if (/^(?:(?:task|voice)_)?id$/.test(key)) return asId(value);
		return key === 'process_percentage' ? asNumber(asText(value)?.replace(/\s*%$/, '')) : value;
	};
	const fields = Object.entries(record).map(
		([key, value]) => [key, outputValue(key, value)] as const,
	);
	return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}
