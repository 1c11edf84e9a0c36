import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { FakeService } from '../test/service/fakeService.mts';
import { Client, type Access } from './client.mts';

export type MiniMax = Awaited<ReturnType<typeof startMiniMax>>;

interface VideoTask {
	status: 'Processing' | 'Success' | 'Fail';
	address?: string;
}

const SPEECH = '/v1/t2a_v2';
const GOOD = { status_code: 0, status_msg: 'success' };

/**
 * Starts a stand-in for MiniMax's API, as far as n8n's node for it calls it. Behind it the simulator does the work, so a task takes as
 * long, and its file is the same, as for everybody else. As MiniMax does, it answers a speech
 * request when the speech is there, and a video request at once, with a task to be queried.
 */
export async function startMiniMax(access: Access) {
	const client = new Client(access);
	const videos = new Map<string, VideoTask>();
	const requests = { speech: 0, video: 0 };

	async function answer(request: IncomingMessage, url: URL): Promise<object> {
		const body = request.method === 'POST' ? JSON.parse(await text(request)) : {};
		switch (`${request.method} ${url.pathname}`) {
			case `POST ${SPEECH}`:
				return await speech(body.text);
			case 'POST /v1/video_generation':
				return { task_id: startVideo(body.prompt), base_resp: GOOD };
			case 'GET /v1/query/video_generation':
				return query(url.searchParams.get('task_id') ?? '');
			case 'GET /v1/files/retrieve':
				return retrieve(url.searchParams.get('file_id') ?? '');
			default:
				throw new Error(`${request.method} ${url.pathname} is not known here`);
		}
	}

	async function speech(input: string): Promise<object> {
		const url = await client.speak(input);
		return {
			data: { audio: url, status: 2 },
			extra_info: {
				audio_format: 'wav',
				usage_characters: input.length,
				word_count: input.split(' ').length,
			},
			trace_id: randomUUID(),
			base_resp: GOOD,
		};
	}

	function startVideo(prompt: string): string {
		const task: VideoTask = { status: 'Processing' };
		const id = randomUUID();
		videos.set(id, task);
		void client.video(prompt).then(
			(address) => Object.assign(task, { status: 'Success', address }),
			() => Object.assign(task, { status: 'Fail' }),
		);
		return id;
	}

	/** A video's file has the id of its task. */
	function query(id: string): object {
		const { status } = videos.get(id)!;
		const file_id = status === 'Success' ? id : '';
		return { task_id: id, status, file_id, base_resp: GOOD };
	}

	function retrieve(id: string): object {
		const file = { file_id: id, filename: 'output.mp4', download_url: videos.get(id)!.address };
		return { file, base_resp: GOOD };
	}

	const service = await FakeService.start((request, response) => {
		const url = new URL(request.url ?? '/', 'http://minimax');
		requests[url.pathname === SPEECH ? 'speech' : 'video']++;
		void answer(request, url).then(
			(body) => {
				response.setHeader('Content-Type', 'application/json');
				response.end(JSON.stringify(body));
			},
			(error: unknown) => {
				response.statusCode = 500;
				response.end(String(error));
			},
		);
	});
	return {
		/** What the node's credential wants as its address. */
		url: `${service.url}/v1`,
		/** Requests that have arrived so far. */
		requests,
		async close() {
			client.close();
			await service.stop();
		},
	};
}
