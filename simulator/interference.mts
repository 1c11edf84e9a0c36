import { cutOff, send, type Exchange } from './http.mts';
import type { FaultAction } from './types.mts';
import type { World } from './world.mts';

/** Whether a fault takes the place of the answer, rather than changing or delaying it. */
export function replaces(action: FaultAction): boolean {
	return Boolean(action.hang || action.reset || action.respond || action.redirect || action.empty);
}

/** Carries out the part of a fault that takes the place of an answer, on either origin. */
export function instead(world: World, exchange: Exchange, action: FaultAction): void {
	if (action.hang) return;
	if (action.reset) {
		cutOff(exchange);
	} else if (action.respond) {
		const { status, headers, body = '' } = action.respond;
		send(world, exchange, { status, body, headers });
	} else if (action.redirect) {
		const headers = { Location: action.redirect };
		send(world, exchange, { status: action.status ?? 302, body: '', headers });
	} else {
		send(world, exchange, { status: 200, body: '' });
	}
}
