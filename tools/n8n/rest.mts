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

	/** Makes the owner's account unless it is there, and logs in. */
	async logIn(): Promise<void> {
		const { email, password } = OWNER;
		const setUp = await this.send('POST', '/rest/owner/setup', OWNER);
		// 400: the account was made before.
		if (!setUp.ok && setUp.status !== 400) throw await failureOf(setUp);
		const login = await this.send('POST', '/rest/login', { emailOrLdapLoginId: email, password });
		if (!login.ok) throw await failureOf(login);
		this.cookie = login.headers
			.getSetCookie()
			.map((cookie) => cookie.split(';')[0])
			.join('; ');
	}

	async request(method: string, path: string, body?: unknown): Promise<any> {
		const response = await this.send(method, path, body);
		if (!response.ok) throw await failureOf(response);
		const answer = await response.json();
		return answer.data ?? answer;
	}

	/** The whole answer as text, such as a stream of events once it has ended. */
	async text(method: string, path: string, body?: unknown): Promise<string> {
		const response = await this.send(method, path, body);
		if (!response.ok) throw await failureOf(response);
		return await response.text();
	}

	/** What lies behind a path, as bytes. */
	async download(path: string): Promise<Buffer> {
		const response = await this.send('GET', path);
		if (!response.ok) throw await failureOf(response);
		return Buffer.from(await response.arrayBuffer());
	}

	private async send(method: string, path: string, body?: unknown): Promise<Response> {
		return await fetch(this.baseUrl + path, {
			method,
			headers: { 'Content-Type': 'application/json', Cookie: this.cookie },
			...(body === undefined ? {} : { body: JSON.stringify(body) }),
		});
	}
}

async function failureOf(response: Response): Promise<Error> {
	const { pathname } = new URL(response.url);
	return new Error(`n8n answered ${response.status} to ${pathname}: ${await response.text()}`);
}
