import { LiveExchange } from '../../check/wire.mts';

/** One exchange, as it was on the wire. */
export function exchangeOf(method: string, path: string, text: string, more = {}): LiveExchange {
	const exchange = new LiveExchange(method, new URL(path, 'https://acme.example'));
	exchange.keep(Buffer.from(text));
	return Object.assign(exchange, { status: 200, ...more });
}

/** An answer that tells of people, in the ways that services do. */
export const SECRETS = {
	accountName: 'Anna Bell',
	email: 'anna@acme.example',
	userId: 'user-47110815',
	prompt: 'My secret plan',
	phones: [15550142, 1574712081, 9317, 52.884712],
	message:
		'Sorry, anna@acme.example at 10.1.2.3: no file at https://acme.example/x/plan.mp4?sig=s3cr3t',
	detail: 'Call +49 30 1234 5678 about card 4242 4242 4242 4242 of 1984-03-09, or 12-34-56-78',
	errorMessage:
		'Anna Bell asked "My secret plan", as did Carl Cole with user-47120815 and 12345678901',
	file_url: 'https://files.acme.example/users/anna/plan.mp4?sig=s3cr3t',
	audio: '/users/anna/plan.mp3?sig=s3cr3t',
	...{ 'anna@acme.example': 1, 'user-47110815': true },
	big: { user_id: 1 },
	members: { anna: { role: 'owner' }, carl: { role: 'guest' } },
	users: { page: 1, total: 2, size: 20, pages: 1, 'anna.bell': { role: 'owner' }, carl: [] },
	status: 'annabell',
	type: ['Anna', 'carl_cole', 'carlCole'],
	portraits: ['//files.acme.example/anna.png', 'https://acme.example/u/anna.bell'],
	cover: `data:image/png;base64,${Buffer.from(`${'-'.repeat(21)}Anna Bell`).toString('base64')}`,
	category: 'anna.bell',
	created_by: 88471204,
	runtimeUser: '8847120302.5',
	customerAccountNo: -8847120303.5,
	ID: 88471207,
	birthdays: ['1984-03-09T00:00:00.000Z', '1984-03-09'],
	referral: { code: 'BELLANNA', language: 'annabell' },
	title: `data:audio/mpeg;base64,${Buffer.from(`ID3${'-'.repeat(18)}Анна Белл\0`).toString('base64')}`,
	photo: `data:image/svg+xml;base64,${Buffer.from('<g>Anna Bell</g>').toString('base64')}`,
	sound: `data:audio/mpeg;base64,${Buffer.from('ID3\x03\0\0\0\0\x10Bell').toString('base64')}`,
	cards: ['data:text/plain,AnnaBellAcme', 'data:audio/mpeg;name=Anna-Bell.mp3;base64,SUQzAwEB'],
};
/** What must be left of it nowhere. */
export const SECRET =
	/anna|bell|carl|acme|471[12]0815|secret|s3cr3t|10\.1\.2\.3|1234567890|15550142|1574712081|QW5uYSBCZWxs|8847120|1984-|0JDQvdC90LAg0JHQtdC70Ls|QmVsb|\b(?:5678|4242)\b|34-56/i;
