interface Outcome {
	/** Input items, and how many of them an earlier attempt had paid for, or came to nothing. */
	items: number;
	collected: number;
	failed: number;
	/** Requests that the service has accepted in this run. */
	paid: number;
}

const counted = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`;

/**
 * What a run came to and cost, in a sentence. Undefined where that is plain to see: all items of it were
 * generated, or it was a single one.
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
