import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, type Dirent } from 'node:fs';
import { join } from 'node:path';

/** A token that is nowhere by chance, and looks different when it is percent-encoded. */
export const canary = (): string =>
	`cnry/${randomBytes(30).toString('base64').replace(/\W/g, '').slice(0, 24)}+Kv9=`;

/** Every form in which a token could get somewhere. */
export function formsOf(token: string): string[] {
	const encoded = encodeURIComponent(token);
	const forms = [
		token,
		encoded,
		encoded.replace(/%../g, (escape) => escape.toLowerCase()),
		encodeURIComponent(encoded),
		JSON.stringify(token).slice(1, -1),
		token.replace(/\W/g, (character) => `&#x${character.charCodeAt(0).toString(16)};`),
		// Without what is different about it, as in a file name.
		/\w{24}/.exec(token)?.[0] ?? token,
	];
	return [...new Set(forms)];
}

/** The token in the forms in which a service would say it. */
export const echo = (token: string) => formsOf(token).slice(0, 3).join(' and ');

/** The first place where one of the tokens is, in any form, with what stands around it. */
export function findToken(
	tokens: string | string[],
	places: Record<string, string>,
): string | undefined {
	const forms = [tokens].flat().flatMap(formsOf);
	const lower = [...new Set(forms.map((form) => form.toLowerCase()))];
	for (const [place, text] of Object.entries(places)) {
		const searched = text.toLowerCase();
		for (const form of lower) {
			const at = searched.indexOf(form);
			if (at >= 0) return `${place}: …${text.slice(Math.max(0, at - 80), at + form.length + 40)}…`;
		}
	}
	return undefined;
}

/** Names and contents of the files under a folder; of large ones, which are media, the beginning. */
export function contentsOf(folder: string): string {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.map((entry) => join(entry.parentPath, entry.name) + (entry.isFile() ? startOf(entry) : ''))
		.join('\n');
}

const startOf = ({ parentPath, name }: Dirent) =>
	readFileSync(join(parentPath, name)).subarray(0, 4096).toString('latin1');
