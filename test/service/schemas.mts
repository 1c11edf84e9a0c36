import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { IDataObject } from 'n8n-workflow';

/* The output schemas that n8n shows before anything has run. */

interface Schema {
	type?: string | string[];
	properties?: Record<string, Schema>;
	required?: string[];
	items?: Schema;
}

const nodes = fileURLToPath(new URL('../../nodes', import.meta.url));

/** Returns the schema of an operation, or of the trigger, from the path at which n8n looks for it. */
export function schemaOf(node: string, ...operation: string[]): Schema | undefined {
	const path = join(nodes, node, '__schema__', `${['v1.0.0', ...operation].join('/')}.json`);
	return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Schema) : undefined;
}

function typeOf(value: unknown): string[] {
	if (value === null) return ['null'];
	if (Array.isArray(value)) return ['array'];
	return Number.isInteger(value) ? ['integer', 'number'] : [typeof value];
}

/** Returns in which places a value does not fit its schema: each with its path, and what is wrong. */
export function misfits(value: unknown, schema: Schema, path = ''): string[] {
	const types = [schema.type ?? []].flat();
	if (types.length > 0 && !typeOf(value).some((type) => types.includes(type))) {
		return [`${path}: ${JSON.stringify(value)} is not ${types.join(' or ')}`];
	}
	if (Array.isArray(value)) {
		return value.flatMap((item, at) => misfits(item, schema.items ?? {}, `${path}[${at}]`));
	}
	if (typeof value !== 'object' || value === null) return [];
	const fields = value as IDataObject;
	const missing = (schema.required ?? []).filter((name) => fields[name] === undefined);
	return [
		...missing.map((name) => `${path}.${name} is missing`),
		...Object.entries(schema.properties ?? {})
			.filter(([name]) => fields[name] !== undefined)
			.flatMap(([name, inner]) => misfits(fields[name], inner, `${path}.${name}`)),
	];
}
