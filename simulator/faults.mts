import type { Exchange } from './http.mts';
import type { FaultAction, FaultRule } from './types.mts';
import type { World } from './world.mts';

/** A fault that somebody ordered: how many requests it still lets pass, and how many it still hits. */
export interface PendingRule {
	rule: FaultRule;
	skip: number;
	remaining: number;
}

/**
 * The action for one request: that of the first rule that is due, in the order in which they came. Every
 * matching rule sees every request, so `after: n` always means the (n+1)-th, whatever other rules do.
 */
export function takeFault(world: World, on: 'api' | 'file', exchange: Exchange): FaultAction {
	let action: FaultAction | undefined;
	for (const pending of world.faults) {
		if (!matches(pending.rule, on, exchange)) continue;
		if (pending.skip > 0) pending.skip--;
		else if (!action && pending.remaining > 0) {
			pending.remaining--;
			pending.skip = (pending.rule.every ?? 1) - 1;
			action = pending.rule.action;
		}
	}
	return action ?? {};
}

function matches(rule: FaultRule, on: 'api' | 'file', { record, url }: Exchange): boolean {
	if ((rule.on ?? 'api') !== on) return false;
	if (rule.method && rule.method !== record.method) return false;
	if (rule.body && !JSON.stringify(record.body ?? null).includes(rule.body)) return false;
	const path = rule.path ?? '';
	if (typeof path === 'string') return url.pathname.startsWith(path);
	// `search` restarts at 0 even for an expression with the g or y flag.
	return url.pathname.search(path) >= 0 || (url.pathname + url.search).search(path) >= 0;
}
