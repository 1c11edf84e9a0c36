/** The account of the owner of the n8n instance. The editor asks for its email and password. */
export const OWNER = {
	email: 'demo@example.com',
	password: 'MediaDemo1',
	firstName: 'Media',
	lastName: 'Demo',
};

/** A client of n8n's internal REST interface, which the editor uses, too. Call `logIn` first. */
export class Rest {
	private cookie = '';
	readonly baseUrl: string;

	constructor(baseUrl: string) {
		this.baseUrl = baseUrl;
	}

	/** Creates the owner's account if it does not exist, and logs in. Throws an Error if that fails. */
	async logIn(): Promise<void> {
		const { email, password } = OWNER;
		// n8n answers with 400 if the account exists.
		await this.sendOrThrow('POST', '/rest/owner/setup', OWNER, [400]);
		const login = await this.sendOrThrow('POST', '/rest/login', {
			emailOrLdapLoginId: email,
			password,
		});
		this.cookie = login.headers
			.getSetCookie()
			.map((cookie) => cookie.split(';')[0])
			.join('; ');
	}

	/**
	 * Sends a request. Resolves with the JSON of the answer, or with its field `data`. Throws an Error as `sendOrThrow` does.
	 */
	async request(method: string, path: string, body?: unknown): Promise<any> {
		const answer: any = await (await this.sendOrThrow(method, path, body)).json();
		return answer.data ?? answer;
	}

	/** Sends a request. Resolves with the whole answer as text once it has ended, for example an event stream. */
	async text(method: string, path: string, body?: unknown): Promise<string> {
		return await (await this.sendOrThrow(method, path, body)).text();
	}

	/** Downloads the file at a path. */
	async download(path: string): Promise<Buffer> {
		return Buffer.from(await (await this.sendOrThrow('GET', path)).arrayBuffer());
	}

	/** Sends a request. Throws an Error unless the HTTP status means success or is in `expected`. */
	private async sendOrThrow(
		method: string,
		path: string,
		body?: unknown,
		expected: number[] = [],
	): Promise<Response> {
		const response = await fetch(this.baseUrl + path, {
			method,
			// Each request has its own connection, because n8n may close an idle one just when it is used again.
			headers: { 'Content-Type': 'application/json', Cookie: this.cookie, Connection: 'close' },
			...(body === undefined ? {} : { body: JSON.stringify(body) }),
		});
		if (response.ok || expected.includes(response.status)) return response;
		throw new Error(`n8n answered ${response.status} to ${path}: ${await response.text()}`);
	}
}
