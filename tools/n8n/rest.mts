/** The account with which one logs in to the instance. */
export const OWNER = {
	email: 'demo@example.com',
	password: 'MediaDemo1',
	firstName: 'Media',
	lastName: 'Demo',
};

/** n8n's own REST interface, as the editor uses it. */
export class Rest {
	private cookie = '';
	readonly baseUrl: string;

	constructor(baseUrl: string) {
		this.baseUrl = baseUrl;
	}

	/** Creates the owner's account unless it exists, and logs in. */
	async logIn(): Promise<void> {
		const { email, password } = OWNER;
		// 400: the account was created before.
		await this.send('POST', '/rest/owner/setup', OWNER, [400]);
		const login = await this.send('POST', '/rest/login', { emailOrLdapLoginId: email, password });
		this.cookie = login.headers
			.getSetCookie()
			.map((cookie) => cookie.split(';')[0])
			.join('; ');
	}

	async request(method: string, path: string, body?: unknown): Promise<any> {
		const answer: any = await (await this.send(method, path, body)).json();
		return answer.data ?? answer;
	}

	/** The whole answer as text, such as a stream of events once it has ended. */
	async text(method: string, path: string, body?: unknown): Promise<string> {
		return await (await this.send(method, path, body)).text();
	}

	/** The bytes at a path. */
	async download(path: string): Promise<Buffer> {
		return Buffer.from(await (await this.send('GET', path)).arrayBuffer());
	}

	/** Throws unless n8n answers with a success, or with one of the statuses in `expected`. */
	private async send(
		method: string,
		path: string,
		body?: unknown,
		expected: number[] = [],
	): Promise<Response> {
		const response = await fetch(this.baseUrl + path, {
			method,
			// n8n may close an idle connection just when it is used again.
			headers: { 'Content-Type': 'application/json', Cookie: this.cookie, Connection: 'close' },
			...(body === undefined ? {} : { body: JSON.stringify(body) }),
		});
		if (response.ok || expected.includes(response.status)) return response;
		throw new Error(`n8n answered ${response.status} to ${path}: ${await response.text()}`);
	}
}
