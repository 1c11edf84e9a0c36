import type { JournalEntry } from '../../nodes/MediaGeneration/paid/journal';
import type { Api } from '../../nodes/shared/api/api';
import { makeCallSignals, type CallSignals } from '../../nodes/shared/async/callSignals';
import { linkedController, withDeadline } from '../../nodes/shared/async/deadline';

const [canceled, stopping] = [new AbortController(), new AbortController()];
const { signal: plain } = new AbortController();
const { stopStarting, abortInFlight } = makeCallSignals({
	cancelSignal: canceled.signal,
	stopSignal: stopping.signal,
});

/* Never called: tsc says where one signal could be taken for the other. */
void (async (api: Api, entry: JournalEntry, limits: CallSignals) => {
	// @ts-expect-error What stops new calls would abort one in flight.
	limits = { stopStarting, abortInFlight: stopStarting };
	// @ts-expect-error After another item's failure calls would go on being sent.
	limits = { stopStarting: abortInFlight, abortInFlight };
	// @ts-expect-error Nobody has said what it is for.
	limits = { stopStarting, abortInFlight: plain };
	await withDeadline(1, stopStarting, async (inTime) => {
		// @ts-expect-error A time limit keeps the purpose.
		limits = { stopStarting, abortInFlight: inTime };
	});
	// @ts-expect-error So does what ends it as well.
	limits = { stopStarting, abortInFlight: linkedController(stopStarting).signal };
	// @ts-expect-error A billable call needs both.
	await api.createTask({}, { abortInFlight });
	// @ts-expect-error Each in its place.
	await api.createTask({}, { ...limits, abortInFlight: stopStarting });
	// @ts-expect-error Another run's call is not waited for once this one has ended.
	await entry.createOnce(abortInFlight, async () => {});
});

test('another item’s failure stops new calls, and lets those in flight be answered', () => {
	stopping.abort();
	expect([stopStarting.aborted, abortInFlight.aborted]).toEqual([true, false]);
	canceled.abort();
	expect(abortInFlight.aborted).toBe(true);
});
