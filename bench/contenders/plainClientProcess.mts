/* The process of `PlainClient`: takes tasks as messages, and answers each when it is done. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client, save, type Access } from '../client.mts';
import type { Operation } from '../service.mts';

export interface Task {
	number: number;
	operation: Operation;
	texts: string[];
	access: Access;
	/** Where the files go. */
	folder: string;
}

export interface Done {
	number: number;
	/** Their paths. */
	files: string[];
}

async function run({ operation, texts, access, folder }: Task): Promise<string[]> {
	const client = new Client(access);
	const file = async (text: string) => {
		const address = await (operation === 'speech' ? client.speak(text) : client.video(text));
		const path = join(folder, randomUUID());
		await save(address, path);
		return path;
	};
	try {
		return await Promise.all(texts.map(file));
	} finally {
		client.close();
	}
}

process.on('message', (task: Task) => {
	void run(task).then((files) => process.send!({ number: task.number, files } satisfies Done));
});
