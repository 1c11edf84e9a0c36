import type { INodeProperties } from 'n8n-workflow';
import { invalidInput } from '../failure';
import { isInlineFile } from '../parsing/responses';
import { asId, asNumber, asWebUrl, isBlank, isRecord, toWellFormed } from '../parsing/values';
import {
	limitField,
	outputField,
	returnAllField,
	type NumberField,
	type SwitchField,
} from './descriptions';

/** The parts of a field's description that most methods need. */
type FieldNames = Pick<INodeProperties, 'name' | 'displayName'>;

/** Returns the value of a parameter, with its expressions resolved. Throws n8n's error if that is impossible. */
type ReadParameter = (name: string, fallback?: unknown) => unknown;

/**
 * Reads parameters. Most methods throw a Failure (invalidInput) for a bad value. Read all parameters before the first
 * request, so that a bad value costs nothing.
 */
export class NodeParameters {
	/** Returns the value of a parameter as it is, without any checks. */
	readonly readRaw: ReadParameter;
	readonly options: Record<string, unknown>;

	/** `canPassFiles` is false if the output cannot contain files, as in a tool for an AI agent. */
	constructor(
		read: ReadParameter,
		private readonly canPassFiles = true,
	) {
		// Each value is read only once, because n8n can do nothing else while it evaluates an expression.
		const cachedValues = new Map<string, unknown>();
		this.readRaw = (name, fallback) => {
			if (!cachedValues.has(name)) cachedValues.set(name, read(name, fallback));
			return cachedValues.get(name);
		};
		const options: unknown = this.readRaw('options', {});
		this.options = isRecord(options) ? options : {};
	}

	/**
	 * Returns the id in a resource locator. One with white space is most likely a name, so it is refused unless it was
	 * chosen from the list.
	 */
	locator({ name, displayName }: FieldNames): string {
		const raw = this.readRaw(name, '');
		const { value, mode } = isRecord(raw) ? raw : { value: raw };
		const id = requireText(value, displayName).trim();
		if (mode === 'list' || !/\s/.test(id)) return id;
		const remedy = "To search by name, switch to 'From list'";
		throw invalidInput(displayName, 'must be an ID, not a name', remedy, shownValue(id));
	}

	/** Returns a text or a number as well-formed text (see `toWellFormed`). Throws if it is blank. */
	text({ name, displayName }: FieldNames): string {
		return toWellFormed(requireText(this.readRaw(name, ''), displayName));
	}

	/** Returns a text in the options, without surrounding white space; undefined if it is missing or blank. */
	textOption({ name, displayName }: FieldNames): string | undefined {
		const value = this.options[name] ?? '';
		const isBlankText = typeof value === 'string' && isBlank(value);
		return isBlankText ? undefined : toWellFormed(requireText(value, displayName)).trim();
	}

	/** Returns a parameter or option that must be one of `allowed`, or the value of a key of `aliases` (lower case). */
	choice<T extends string>(
		{ name, displayName }: FieldNames,
		allowed: readonly T[],
		aliases: ReadonlyMap<string, T> = new Map(),
	): T {
		const value = this.options[name] ?? this.readRaw(name, allowed[0]);
		const text = String(value).trim();
		const chosen =
			aliases.get(text.toLowerCase()) ?? allowed.find((allowedValue) => allowedValue === text);
		if (chosen !== undefined) return chosen;
		const shownChoices = aliases.size > 0 ? [...aliases.keys()] : allowed;
		const reason = `must be one of ${shownChoices.join(', ')}`;
		throw invalidInput(displayName, reason, undefined, shownValue(value));
	}

	/**
	 * Returns the value of a switch, which may be one of the options or a separate parameter. Throws a Failure unless it
	 * reads as true or false.
	 */
	flag({ name, displayName, default: byDefault }: SwitchField): boolean {
		const value = this.options[name] ?? this.readRaw(name, byDefault) ?? '';
		if (value === '') return byDefault;
		// An expression may also give a text, such as “false” or “no”, or a number.
		const word = typeof value === 'object' ? '' : String(value).trim().toLowerCase();
		if (['true', '1', 'yes', 'on'].includes(word)) return true;
		if (['false', '0', 'no', 'off'].includes(word)) return false;
		throw invalidInput(displayName, 'must be true or false', undefined, shownValue(value));
	}

	/** Returns true if a switch asks for a file, and the output can contain files. */
	wantsFile(field: SwitchField): boolean {
		return this.canPassFiles && this.flag(field);
	}

	/**
	 * Returns a function that tells whether to download the file at a URL: if the switch asks for it, or if the URL
	 * contains the whole file, which would otherwise be lost. It never does if the output cannot contain files.
	 */
	wantsFileAt(field: SwitchField): (url?: string) => boolean {
		const wantsFile = this.wantsFile(field);
		return (url) => wantsFile || (this.canPassFiles && isInlineFile(url));
	}

	/**
	 * Returns the number in a field, which may be one of the options or a separate parameter. Throws a Failure if it is
	 * outside the field's range.
	 */
	number({ name, displayName, typeOptions, default: byDefault }: NumberField): number {
		const value = this.options[name] ?? this.readRaw(name, byDefault);
		const { minValue: min, maxValue: max = Infinity, numberPrecision } = typeOptions;
		const isWhole = numberPrecision === 0;
		// It may be a text, such as "3".
		const number = asNumber(value) ?? NaN;
		if (number >= min && number <= max && (!isWhole || number % 1 === 0)) return number;
		const kind = isWhole ? 'a whole number' : 'a number';
		const range = max === Infinity ? `of at least ${min}` : `from ${min} to ${max}`;
		throw invalidInput(displayName, `must be ${kind} ${range}`, undefined, shownValue(value));
	}

	/** Does what `number` does, for a duration in seconds. Returns ms. */
	duration(field: NumberField): number {
		return this.number(field) * 1000;
	}

	/** Returns the ids of speech tasks (§4.2) in a list or a text, each once; empty if there are none. */
	taskIds({ name, displayName }: FieldNames): string[] {
		const ids = textsIn(this.readRaw(name, ''), displayName);
		// An id becomes a part of a URL's path.
		const areValid = ids.every((id) => asId(id) === id && !/[/\\?#\s]|^\.+$/.test(id));
		if (areValid) return [...new Set(ids)];
		throw invalidInput(displayName, 'must contain only task IDs, without slashes or URLs');
	}

	/** Returns the ids of at least one and at most `max` speech tasks, each once. */
	requiredTaskIds(field: FieldNames, max: number): [string, ...string[]] {
		const { displayName } = field;
		const [first, ...others] = this.taskIds(field);
		if (first === undefined) throw invalidInput(displayName, 'is empty');
		if (others.length < max) return [first, ...others];
		const text = `lists ${others.length + 1} tasks, but the maximum is ${max}`;
		throw invalidInput(displayName, text, 'Pass the other tasks as further items');
	}

	/** Returns the values of a parameter that lists one or more of `allowed`. */
	choices<T extends string>({ name, displayName }: FieldNames, allowed: readonly T[]): T[] {
		const chosen = textsIn(this.readRaw(name, []), displayName);
		if (chosen.length === 0) throw invalidInput(displayName, 'is empty', 'Choose at least one');
		const invalidChoice = chosen.find((value) => !allowed.includes(value as T));
		if (invalidChoice === undefined) return chosen as T[];
		const reason = `must be one or more of ${allowed.join(', ')}`;
		throw invalidInput(displayName, reason, undefined, shownValue(invalidChoice));
	}

	/** Returns the name of the binary field that receives the file. */
	outputField(): string {
		const { name, displayName, default: byDefault } = outputField;
		return requireText(this.options[name] ?? byDefault, displayName).trim();
	}

	/** Returns how many records to output at most; Infinity if the user wants all. */
	limit(): number {
		return this.flag(returnAllField) ? Infinity : this.number(limitField);
	}

	/** Returns an http(s) URL in the options; undefined if it is missing or blank. */
	urlOption(field: FieldNames): string | undefined {
		const text = this.textOption(field);
		if (text === undefined || asWebUrl(text)) return text;
		throw invalidInput(field.displayName, 'must begin with https:// or http://');
	}
}

/**
 * Returns the texts in a list, in the JSON of a list, or in a text that separates them by commas, spaces or line
 * breaks. Throws a Failure of kind invalidInput if something in the list is neither a text nor a number.
 */
export function textsIn(raw: unknown, displayName: string): string[] {
	const parts = [raw].flat().filter((part) => String(part ?? '').trim() !== '');
	const texts = parts.map((part) => requireText(part, displayName));
	return texts
		.join()
		.split(/[\s,"[\]]+/)
		.filter((text) => text !== '');
}

/** Returns a value as a message shows it, such as `"abc"`. */
function shownValue(value: unknown): string {
	// Arithmetic with a missing column gives NaN, which JSON would turn into null.
	if (typeof value === 'number') return String(value);
	if (typeof value === 'string') return `"${value.slice(0, 60)}"`;
	return JSON.stringify(value)?.slice(0, 60) ?? 'not set';
}

/** Returns a text or a number as text. Throws a Failure for any other value, and for a blank text. */
function requireText(value: unknown, displayName: string): string {
	if (Number.isFinite(value)) return String(value);
	if (value === undefined || value === null || (typeof value === 'string' && isBlank(value))) {
		throw invalidInput(displayName, 'is empty');
	}
	if (typeof value !== 'string')
		throw invalidInput(displayName, 'must be text', undefined, shownValue(value));
	return value;
}
