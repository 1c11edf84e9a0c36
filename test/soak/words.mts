import type { Random } from './random.mts';

/** What the service says, with the token in it where it can be. */

const SENTENCES = [
	'Something went wrong',
	'insufficient_credits',
	'You do not have enough credits to do this.',
	'invalid_voice_id',
	'Invalid token',
	'UNSAFE_GENERATION',
	'AUDIO_FILTERED',
	'Rate limit exceeded',
	'Überlastet, bitte später 🙏',
	'a'.repeat(3000),
	'<b>bold</b> <script>alert(1)</script>',
	'{"nested": "json"}',
	'%s %d %00 \u0000\u001b[31m',
];

export function sentence(random: Random, token: string): string {
	const said = random.pick(SENTENCES);
	const echo = random.pick(['', '', token, `Bearer ${token}`, encodeURIComponent(token)]);
	return echo ? `${said} for ${echo}` : said;
}

/** An error in one of the shapes that deployments are known to send, and some beyond them. */
export function errorBody(random: Random, token: string): unknown {
	const text = sentence(random, token);
	return random.pick([
		{ error: text },
		{ message: text },
		{ detail: text },
		{ detail: [{ msg: text, loc: ['body', 'x'] }] },
		{ error: { code: 'x', message: text } },
		{ error: { error: { error: { message: text } } } },
		{ errors: [text, { message: text }] },
		{ error: true, code: 17 },
		{ error: [] },
		[text],
		text,
		null,
		17,
		{},
		{ [text]: text },
	]);
}

/** Values where another kind was expected. */
export const odd = (random: Random, token: string): unknown =>
	random.pick([null, 0, -1, 1e308, '', ' ', true, [], {}, [[]], token, 'x'.repeat(5000), [null]]);
