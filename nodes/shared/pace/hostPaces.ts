import { thisProcess } from '../account';
import { dropOldest } from '../limits';
import { RateLimit } from './rateLimit';

/** How many hosts' paces are remembered. */
const MAX_HOSTS = 100;

/**
 * How often hosts of files may be asked, learnt from their refusals. A file is no part of the API, even
 * on its origin: neither slows the other.
 */
class HostPaces {
	private readonly paces = new Map<string, RateLimit>();

	/** The pace of a host that has refused something; any other is asked at will. */
	known(origin: string): RateLimit | undefined {
		return this.paces.get(origin);
	}

	/** The pace of a host that refuses something now. */
	refusing(origin: string): RateLimit {
		const pace = this.paces.get(origin) ?? new RateLimit();
		this.paces.set(origin, pace);
		dropOldest(this.paces, MAX_HOSTS);
		return pace;
	}
}

/** What this process knows of hosts of files. */
export const hostPaces = (): HostPaces => thisProcess.shared(HostPaces);
