import { thisProcess } from '../account';
import { dropOldest } from '../limits';
import { RateLimit } from './rateLimit';

/** How many hosts' paces are remembered. */
const MAX_HOSTS = 100;

/**
 * How often hosts of files may be asked. A file is no part of the API, even on its origin: neither
 * slows the other.
 */
class HostPaces {
	/** Those of hosts that have refused something; any other is asked at will. */
	private readonly paces = new Map<string, RateLimit>();
	/** The hosts whose last answer was a refusal. */
	private readonly refusing = new Set<string>();

	of(origin: string): RateLimit | undefined {
		return this.paces.get(origin);
	}

	accepted(origin: string, sentAt: number): void {
		this.refusing.delete(origin);
		this.paces.get(origin)?.accepted('read', sentAt);
	}

	/** One refusal may be chance, and is its own file's affair; from the second in a row on, all rest. */
	refused(origin: string, sentAt: number, retryAfterMs: number | undefined): void {
		const isFirst = !this.refusing.has(origin);
		this.refusing.add(origin);
		dropOldest(this.refusing, MAX_HOSTS);
		if (isFirst) return;
		const pace = this.paces.get(origin) ?? new RateLimit(false);
		this.paces.set(origin, pace);
		dropOldest(this.paces, MAX_HOSTS);
		pace.refused('read', sentAt, retryAfterMs);
	}
}

/** What this process knows of hosts of files. */
export const hostPaces = (): HostPaces => thisProcess.shared(HostPaces);
