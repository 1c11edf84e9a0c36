import type { Exchange } from './http.mts';
import type { FaultAction, FaultRule, RequestRecord } from './types.mts';

interface PendingRule {
	rule: FaultRule;
	skip: number;
	left: number;
}

/** The faults ordered by tests, in order; the first rule that is due acts. */
export class FaultBook {
	#pending: PendingRule[] = [];

	add(rule: FaultRule): void {
		this.#pending.push({ rule, skip: rule.after ?? 0, left: rule.times ?? 1 });
	}

	clear(): void {
		this.#pending = [];
	}

	/**
	 * The action for one request, or undefined. Every matching rule sees every request, so
	 * `after: n` always means the (n+1)-th request, whatever other rules do.
	 */
	take(on: 'api' | 'file', { record, url }: Exchange): FaultAction | undefined {
		let action: FaultAction | undefined;
		for (const pending of this.#pending) {
			if (!matches(pending.rule, on, record, url)) continue;
			if (pending.skip > 0) pending.skip--;
			else if (!action && pending.left > 0) {
				pending.left--;
				pending.skip = (pending.rule.every ?? 1) - 1;
				action = pending.rule.action;
			}
		}
		return action;
	}
}

function matches(
	rule: FaultRule,
	on: 'api' | 'file',
	{ method, body }: RequestRecord,
	url: URL,
): boolean {
	if ((rule.on ?? 'api') !== on) return false;
	if (rule.method && rule.method.toUpperCase() !== method) return false;
	if (rule.body && !JSON.stringify(body ?? null).includes(rule.body)) return false;
	const path = rule.path;
	if (path === undefined) return true;
	if (typeof path === 'string') return url.pathname.startsWith(path);
	// `search` restarts at 0 even for an expression with the g or y flag.
	return url.pathname.search(path) >= 0 || (url.pathname + url.search).search(path) >= 0;
}
