import type { INodeProperties } from 'n8n-workflow';
import { invalidInput } from '../failure';
import { asId, asNumber, asWebUrl, isBlank, isRecord, wellFormed } from '../parsing/values';
import { limit, returnAll, type NumberField, type SwitchField } from './descriptions';

/** A parameter as the workflow holds it, expressions resolved. */
type ReadParameter = (name: string, fallback?: unknown) => unknown;

/** Reads the parameters of an item or a trigger, and refuses bad ones before anything is sent. */
export class NodeParameters {
	readonly options: Record<string, unknown>;

	/** `withFiles` is false where no file can be passed on, whatever the parameters say. */
	constructor(
		readonly raw: ReadParameter,
		private readonly withFiles = true,
	) {
		const options: unknown = this.raw('options', {});
		this.options = isRecord(options) ? options : {};
	}

	/** The id in a resource locator, in any of its modes. */
	locator(name: string, displayName: string): string {
		const value = this.raw(name, '');
		const id = requireText(isRecord(value) ? value.value : value, displayName).trim();
		if (!/\s/.test(id)) return id;
		const text = `is a name ${shownValue(id)}: enter the ID, not the name, or choose From list`;
		throw invalidInput(displayName, text);
	}

	/** A text that is not blank, and well-formed; a number counts as text. */
	text(name: string, displayName: string): string {
		return wellFormed(requireText(this.raw(name, ''), displayName));
	}

	/** The same in the options, trimmed; undefined when it is missing or blank. */
	textOption({ name, displayName }: INodeProperties): string | undefined {
		const value = this.options[name] ?? '';
		const isMissing = typeof value === 'string' && isBlank(value);
		return isMissing ? undefined : wellFormed(requireText(value, displayName)).trim();
	}

	/** One of `allowed`, or what `aliases` holds for it, in whatever case. */
	choice<T extends string>(
		name: string,
		displayName: string,
		allowed: readonly T[],
		aliases: ReadonlyMap<string, T> = new Map(),
	): T {
		const value = this.raw(name, allowed[0]);
		const text = String(value).trim();
		const chosen = aliases.get(text.toLowerCase()) ?? allowed.find((each) => each === text);
		if (chosen !== undefined) return chosen;
		const short = aliases.size > 0 ? [...aliases.keys()] : allowed;
		throw invalidInput(displayName, `must be one of ${short.join(', ')} ${shownValue(value)}`);
	}

	/** A switch, in the options or beside them. */
	flag({ name, default: byDefault }: SwitchField): boolean {
		const value = this.options[name] ?? this.raw(name, byDefault) ?? '';
		if (value === '') return byDefault;
		// Expressions may also give true and false as text.
		return !['false', '0', 'no'].includes(String(value).trim().toLowerCase());
	}

	/** Whether the file that a switch asks for is to be fetched. */
	wantsFile(field: SwitchField): boolean {
		return this.withFiles && this.flag(field);
	}

	number(field: NumberField): number {
		return requireNumber(this.raw(field.name, field.default), field);
	}

	/** The same in the options. */
	numberOption(field: NumberField): number {
		return requireNumber(this.options[field.name] ?? field.default, field);
	}

	/** An option in seconds, returned in milliseconds. */
	durationOption(field: NumberField): number {
		return this.numberOption(field) * 1000;
	}

	/** The ids of speech tasks (§4.2), each once; empty when there are none. */
	taskIds(name: string, displayName: string): string[] {
		const ids = textsIn(this.raw(name, ''), displayName);
		return [...new Set(ids.map((id) => requireTaskId(id, displayName)))];
	}

	/** The ids of the tasks that make up a speech, one at least and `max` at most. */
	taskIdsOfSpeech(max: number): [string, ...string[]] {
		const [first, ...others] = this.taskIds('taskId', 'Task ID');
		if (first === undefined) throw invalidInput('Task ID', 'is empty');
		if (others.length < max) return [first, ...others];
		throw invalidInput('Task ID', `names ${others.length + 1} tasks; ${max} can be named here`);
	}

	/** Several of `allowed`, at least one. */
	choices<T extends string>(name: string, displayName: string, allowed: readonly T[]): T[] {
		const chosen = textsIn(this.raw(name, []), displayName);
		if (chosen.length === 0) throw invalidInput(displayName, 'is empty: choose at least one');
		const wrong = chosen.find((value) => !allowed.includes(value as T));
		if (wrong === undefined) return chosen as T[];
		throw invalidInput(displayName, `must be some of ${allowed.join(', ')} ${shownValue(wrong)}`);
	}

	/** The field that receives the file. */
	outputField(): string {
		return requireText(this.options.outputField ?? 'data', 'Put Output File in Field').trim();
	}

	/** All records, or the limit (`returnAll`, `limit`). */
	limit(): number {
		if (this.flag(returnAll)) return Infinity;
		return this.number(limit);
	}

	/** An address that the service is to call. */
	callbackUrl(): string | undefined {
		const value = this.options.callbackUrl;
		if (value === undefined || value === null || value === '') return undefined;
		const text = String(value).trim();
		if (asWebUrl(text)) return text;
		throw invalidInput('Callback URL', 'is not a URL: it must begin with https://');
	}
}

/** The texts of a list, also as JSON text, or separated by commas, blanks or lines. */
function textsIn(raw: unknown, displayName: string): string[] {
	const parts = [raw].flat().filter((part) => String(part ?? '').trim() !== '');
	const texts = parts.map((part) => requireText(part, displayName));
	return texts
		.join()
		.split(/[\s,"[\]]+/)
		.filter((text) => text !== '');
}

function requireTaskId(value: string, displayName: string): string {
	const isId = asId(value) === value && !/[/\\?#\s]/.test(value) && !/^\.+$/.test(value);
	if (isId) return value;
	throw invalidInput(
		displayName,
		'must be just the ID, without slashes, spaces or a URL around it',
	);
}

const shownValue = (value: unknown) => {
	const shown = typeof value === 'string' ? `"${value.slice(0, 60)}"` : JSON.stringify(value);
	return `(it is ${shown ?? 'not set'})`;
};

/** Throws a Failure of kind invalidInput when the value is blank or no text; a number counts as one. */
function requireText(value: unknown, displayName: string): string {
	if (Number.isFinite(value) || typeof value === 'bigint') return String(value);
	if (value === undefined || value === null || (typeof value === 'string' && isBlank(value))) {
		throw invalidInput(displayName, 'is empty');
	}
	if (typeof value !== 'string')
		throw invalidInput(displayName, `must be text ${shownValue(value)}`);
	return value;
}

/** A number within the field's range; a text that holds one counts. */
function requireNumber(value: unknown, { displayName, typeOptions }: NumberField): number {
	const { minValue: min, maxValue: max = Infinity, numberPrecision } = typeOptions;
	const isWhole = numberPrecision === 0;
	const number = asNumber(value);
	if (number !== undefined && number >= min && number <= max && (!isWhole || number % 1 === 0)) {
		return number;
	}
	const kind = isWhole ? 'a whole number' : 'a number';
	const range = max === Infinity ? `of at least ${min}` : `from ${min} to ${max}`;
	throw invalidInput(displayName, `must be ${kind} ${range} ${shownValue(value)}`);
}
