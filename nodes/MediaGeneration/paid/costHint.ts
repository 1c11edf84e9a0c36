interface Outcome {
	/** Input items. */
	items: number;
	/** Those that an earlier attempt had paid for. */
	collected: number;
	failed: number;
	/** Requests that the service has accepted in this run. */
	paid: number;
}

const counted = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`;

/**
 * What a run generated and cost, in a sentence. Undefined if that goes without saying: if all items were
 * generated, or there was only one.
 */
export function costHint({ items, collected, failed, paid }: Outcome): string | undefined {
	if (items < 2 || collected + failed === 0 || collected + paid === 0) return undefined;
	const made = items - collected - failed;
	const parts = [
		`${counted(made, 'item')} generated`,
		collected > 0 && `${collected} collected from an earlier attempt at no extra charge`,
		failed > 0 && `${failed} failed`,
	].filter(Boolean);
	return `${parts.join(', ')}; ${counted(paid, 'paid request')}`;
}
