/* The process of `PlainClient`: takes tasks as messages, and answers each when it is done. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client, save, type Access } from '../client.mts';

export interface Task {
	number: number;
	what: 'speech' | 'video' | 'drain';
	texts: string[];
	access: Access;
	/** Where the files go. */
	folder: string;
}

export interface Done {
	number: number;
	/** The paths of the files, or of `drain` the number of bytes. */
	result: string[] | number;
}

async function run({ what, texts, access, folder }: Task): Promise<Done['result']> {
	const client = new Client(access);
	const file = async (text: string) => {
		const address = await (what === 'speech' ? client.speak(text) : client.video(text));
		const path = join(folder, randomUUID());
		await save(address, path);
		return path;
	};
	try {
		return what === 'drain' ? await client.drain(texts[0]!) : await Promise.all(texts.map(file));
	} finally {
		client.close();
	}
}

process.on('message', (task: Task) => {
	void run(task).then((result) => process.send!({ number: task.number, result } satisfies Done));
});
