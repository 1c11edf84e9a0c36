import { drip } from '../service/fakeService.mts';
import type { Asked } from './moods.mts';
import { errorBody, odd, sentence } from './words.mts';

/** Generation streams that nobody wrote by hand. */

interface Made {
	id: string;
	file_url: string;
}

const event = (name: string, data: string, gap: string) =>
	`event:${gap}${name}\ndata:${gap}${data}\n\n`;

function someEvent({ random, token }: Asked): string | Buffer {
	const gap = random.pick(['', ' ']);
	const word = random.pick(['starting', 'processing', 'generating', 'uploading_images', token, '']);
	return random.pick<() => string | Buffer>([
		() => event('video_generation_status', JSON.stringify(word), gap),
		() => event('image_generation_status', word, gap),
		() =>
			event('status', JSON.stringify({ status: word, id: random.pick(['', 'x', token, 7]) }), gap),
		() => event('status', JSON.stringify(odd(random, token)), gap),
		() => ': keep-alive\n\n',
		() => '\r\n\r\n\r',
		() => 'id: 7\nretry: 1\nfoo: bar\n\n',
		() => `data: ${sentence(random, token)}`,
		() => random.bytes(40),
		() => '\ufeff',
		() => 'event: \ndata\n\n',
	])();
}

function lastEvent(asked: Asked, made: Made[], onError: () => void): string {
	const { random, token } = asked;
	const gap = random.pick(['', ' ']);
	const many = made.map(({ file_url }) => file_url);
	const data = random.pick<unknown>([
		made,
		made,
		made,
		made[0],
		JSON.stringify(made),
		{ data: made },
		{ id: made[0]!.id, file_urls: many },
		made.map(({ id, file_url: url }) => ({ id, url, extra: odd(random, token), prompt: token })),
		[],
		[
			{ id: 'x', file_url: 'file:///etc/passwd' },
			{ id: 'y', file_url: 'javascript:alert(1)' },
		],
		odd(random, token),
	]);
	const name = random.word('video_generation_complete image_generation_complete all_set message');
	if (random.chance(0.2)) {
		onError();
		const broken = '{"code": 5, "err';
		const whole = JSON.stringify(errorBody(random, token));
		return event('error', random.chance(0.2) ? broken : whole, gap);
	}
	const whole = event(name, JSON.stringify(data), gap);
	return random.chance(0.9) ? whole : whole.slice(0, random.whole(1, whole.length - 1));
}

/** Answers a create call with a stream that ends with `made`, or with an error: then it calls `onError`. */
export function stream(asked: Asked, made: Made[], onError: () => void): void {
	const { response, request, random } = asked;
	if (random.chance(0.15)) {
		return void response.end(JSON.stringify(random.pick<unknown>([made, made[0], { data: made }])));
	}
	const steps: Array<string | Buffer> = [];
	for (let n = random.whole(0, 6); n > 0; n--) steps.push(someEvent(asked));
	if (random.chance(0.75)) steps.push(lastEvent(asked, made, onError));
	const cut = random.chance(0.3);
	const pieces = cut ? steps.flatMap((step) => split(Buffer.from(step as string))) : steps;
	response.writeHead(200, {
		'content-type': random.word('text/event-stream application/json text/html'),
	});
	response.flushHeaders();
	const ending = random.word('end end end reset hang endlessLine endlessEvents');
	let at = 0;
	const timer = setInterval(
		() => {
			if (response.destroyed) return clearInterval(timer);
			if (at < pieces.length) return void response.write(pieces[at++]!);
			clearInterval(timer);
			if (ending === 'end') response.end();
			else if (ending === 'reset') request.socket.resetAndDestroy();
			else if (ending === 'endlessLine') drip(response, 'data: x'.repeat(5000), 10);
			else if (ending === 'endlessEvents') drip(response, 'data: "processing"\n\n', 5);
		},
		random.whole(1, 20),
	);
}

const split = (bytes: Buffer): Buffer[] =>
	bytes.length < 4
		? [bytes]
		: [bytes.subarray(0, bytes.length >> 1), bytes.subarray(bytes.length >> 1)];
