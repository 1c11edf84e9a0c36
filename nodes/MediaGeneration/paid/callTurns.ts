import type { IDataObject } from 'n8n-workflow';
import { thisProcess } from '../../shared/account';

/** By the context they are kept in and their key: the ends of the latest calls of models. */
class CallTurns {
	readonly latest = new WeakMap<IDataObject, Map<string, Promise<void>>>();
}

/**
 * Equal calls of a model at the same time take turns, so that each finds what the one before it has left.
 * Resolves when it is this one's turn, with the function that ends it.
 */
export async function takeTurn(store: IDataObject, key: string): Promise<() => void> {
	const { latest } = thisProcess.shared(CallTurns);
	const ofStore = latest.get(store) ?? new Map<string, Promise<void>>();
	latest.set(store, ofStore);
	const before = ofStore.get(key);
	let leave = () => {};
	const own = new Promise<void>((resolve) => {
		leave = () => {
			if (ofStore.get(key) === own) ofStore.delete(key);
			resolve();
		};
	});
	ofStore.set(key, own);
	await before;
	return leave;
}
