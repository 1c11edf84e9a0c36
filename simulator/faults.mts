import type { Exchange } from './http.mts';
import type { FaultAction, FaultRule } from './types.mts';
import type { Simulator } from './state.mts';

/** A fault rule and its counters. */
export interface PendingRule {
	rule: FaultRule;
	/** How many matching requests still pass before the next hit. */
	skip: number;
	/** How many requests the rule still hits. */
	remaining: number;
}

/**
 * Returns the fault for one request: the action of the first rule that is due, in the order in which the rules were
 * added; `{}` if no rule is due. Every rule that matches counts the request, even if another rule hits it.
 */
export function takeFault(sim: Simulator, on: 'api' | 'file', exchange: Exchange): FaultAction {
	let action: FaultAction | undefined;
	for (const pending of sim.faults) {
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

/** True if a rule applies to a request. */
function matches(rule: FaultRule, on: 'api' | 'file', { record, url }: Exchange): boolean {
	if ((rule.on ?? 'api') !== on) return false;
	if (rule.method && rule.method !== record.method) return false;
	if (rule.body && !JSON.stringify(record.body ?? null).includes(rule.body)) return false;
	const path = rule.path ?? '';
	if (typeof path === 'string') return url.pathname.startsWith(path);
	// `search` always starts at 0. `test` does not if the regular expression has the flag g or y.
	return url.pathname.search(path) >= 0 || (url.pathname + url.search).search(path) >= 0;
}
