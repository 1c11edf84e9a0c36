import { Failure } from '../../nodes/shared/failure';
import type { Credential } from '../../nodes/shared/http/credential';
import { download, type FileContext } from '../../nodes/shared/http/download';

test.each([
	['a file of the service is fetched once its host name can be looked up again', false, true],
	['an input on an unknown host fails soon, because its name is probably mistyped', true, false],
])('%s', async (_, isInput, isReached) => {
	jest.useFakeTimers();
	let isOutage = true;
	setTimeout(() => (isOutage = false), 45_000);
	const httpRequest = async () => {
		if (isOutage) throw Object.assign(new Error(), { code: 'ENOTFOUND' });
		return await Promise.reject(new Error('reached'));
	};
	const credential = {
		origin: 'https://media.example.com',
		redact: { text: (text: string) => text },
	};
	const downloading = download(
		{ helpers: { httpRequest } } as unknown as FileContext,
		credential as unknown as Credential,
		{ url: 'https://cdn.example.com/a.png', kind: 'image', id: 'a', isInput },
		new AbortController().signal,
	).catch((error: unknown) => error as Failure);
	await jest.advanceTimersByTimeAsync(200_000);
	const { facts } = (await downloading) as Failure;
	expect(facts.unreachableCause === undefined).toBe(isReached);
	jest.useRealTimers();
});
