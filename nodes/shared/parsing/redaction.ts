/** Takes the API token out of whatever is shown, kept or logged. */
export interface Redactor {
	/** The text with the token blanked out, even where it is encoded or in letters of another case. */
	text(said: string): string;
	/** The same for every text in a value, keys included. One without the token comes back as it is. */
	value<T>(value: T): T;
}

/** Which characters are percent-encoded in an address: every encoder has its own idea of that. */
const IN_ADDRESSES = [
	/[^\w.~!*'()-]/g,
	/[^\w.~-]/g,
	/[^\w.*-]/g,
	/[^\w.~!*'();,/?:@&=+$#-]/g,
	/["#<>?^`{}]/g,
];

const escaped = (text: string, characters: RegExp, mark: string) =>
	text.replace(characters, (one) => mark + one.charCodeAt(0).toString(16).padStart(2, '0'));

/**
 * The token within a text in base64, which encodes three bytes at a time: its letters depend on where in
 * such a group it begins. Those that also depend on its neighbours are left out.
 */
function inBase64(apiToken: string): string[] {
	const forms = [0, 1, 2].map((before) => {
		const bytes = Buffer.from(' '.repeat(before) + apiToken);
		const letters = bytes.toString('base64').replace(/.=+$/, '');
		return letters.slice(before === 0 ? 0 : before + 1);
	});
	return [...forms, ...forms.map((form) => form.replaceAll('+', '-').replaceAll('/', '_'))];
}

/** The token as it may appear in a text: as it is, in JSON, in an address, or in one within another. */
function formsOf(apiToken: string): string[] {
	const inJson = JSON.stringify(apiToken).slice(1, -1);
	const inAddress = IN_ADDRESSES.map((characters) => escaped(apiToken, characters, '%'));
	return [
		...[apiToken, inJson, inJson.replaceAll('/', '\\/')],
		// Some write more than they must as a code.
		...[escaped(inJson, /[&<>]/g, '\\u00'), escaped(apiToken, /["&'+<>\\`]/g, '\\u00')],
		...inAddress.flatMap((form) => [form, form.replaceAll('%', '%25')]),
		...inBase64(apiToken),
	];
}

/**
 * What a form is found by. The service may have cut it off, so this much of it is enough; and a
 * regular expression can't be of any length.
 */
const headOf = (form: string) =>
	form
		.slice(0, Math.max(12, Math.min(500, Math.ceil(form.length / 2))))
		.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/** How many characters two texts have in common at their beginnings. */
function alike(one: string, other: string): number {
	let length = 0;
	while (length < one.length && one[length] === other[length]) length++;
	return length;
}

/** Made once for each credential. A token of fewer than six characters is left: words may contain it. */
export function redactor(apiToken: string): Redactor {
	if (apiToken.length < 6) return { text: (said) => said, value: (value) => value };
	const forms = [...new Set(formsOf(apiToken).map((form) => form.toLowerCase()))];
	const longest = Math.max(...forms.map((form) => form.length));
	const heads = new RegExp(forms.map(headOf).join('|'), 'gi');
	// The mask must not make another token of what is left around it.
	const mask = apiToken.includes('*') ? '•••••' : '*****';

	function text(said: string): string {
		let out = '';
		for (let at = 0; ;) {
			heads.lastIndex = at;
			const head = heads.exec(said);
			if (!head) return out + said.slice(at);
			out += said.slice(at, head.index) + mask;
			const found = said.slice(head.index, head.index + longest).toLowerCase();
			at = head.index + Math.max(head[0].length, ...forms.map((form) => alike(form, found)));
		}
	}

	function value<T>(part: T): T {
		if (typeof part === 'string') return text(part) as T;
		if (typeof part !== 'object' || part === null) return part;
		const before = Object.entries(part) as Array<[string, unknown]>;
		const after = before.map(([key, entry]): [string, unknown] => [text(key), value(entry)]);
		const isSame = after.every(([key, entry], index) => {
			const [oldKey, old] = before[index]!;
			return key === oldKey && Object.is(entry, old);
		});
		if (isSame) return part;
		return (Array.isArray(part) ? after.map(([, entry]) => entry) : Object.fromEntries(after)) as T;
	}

	return { text, value };
}
