import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, type Dirent } from 'node:fs';
import { join } from 'node:path';

/** Returns a random token. Percent-encoding changes it, so a leak of either form is detected. */
export const canary = (): string =>
	`cnry/${randomBytes(30).toString('base64').replace(/\W/g, '').slice(0, 24)}+Kv9=`;

/** Returns all forms in which a token could leak. */
export function formsOf(token: string): string[] {
	const encoded = encodeURIComponent(token);
	const forms = [
		token,
		encoded,
		encoded.replace(/%../g, (escape) => escape.toLowerCase()),
		encodeURIComponent(encoded),
		JSON.stringify(token).slice(1, -1),
		token.replace(/\W/g, (character) => `&#x${character.charCodeAt(0).toString(16)};`),
		// In a file name, the unusual characters are replaced.
		/\w{24}/.exec(token)?.[0] ?? token,
	];
	return [...new Set(forms)];
}

/** Returns the forms of a token in which a service may repeat it. */
export const echo = (token: string) => formsOf(token).slice(0, 3).join(' and ');

/** Returns the name of the first place that contains one of the tokens, with the text around it; undefined if none does. */
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

/** Returns the paths and the first 4096 bytes of all files in a folder. Larger files are media. */
export function contentsOf(folder: string): string {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.map((entry) => join(entry.parentPath, entry.name) + (entry.isFile() ? startOf(entry) : ''))
		.join('\n');
}

const startOf = ({ parentPath, name }: Dirent) =>
	readFileSync(join(parentPath, name)).subarray(0, 4096).toString('latin1');
