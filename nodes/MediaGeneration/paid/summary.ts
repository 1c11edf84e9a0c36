import { Failure, type FailureKind, type Meaning } from '../../shared/failure';
import { firstOf, rowsOf } from '../../shared/n8n/messages';
import type { JournalValue } from './journal';

/** The journal's value for a create call, with the index of its input item. */
export type ItemRequest = JournalValue & { index: number };

/**
 * Failures whose cause is not in the input item, such as a refused token or an outage. Once the cause is gone, a
 * retry of the same items succeeds.
 */
const CAUSES_OUTSIDE_OF_ITEM = new Set<FailureKind | Meaning | undefined>([
	...(['outOfCredit', 'rateLimited', 'tokenRefused', 'overBudget', 'timedOut'] as const),
	...(['unreachable', 'noResponse', 'unavailable', 'foreignServer', 'redirected'] as const),
	...(['credit', 'quota', 'throttled', 'token'] as const),
]);

const RETRY_ADVICE =
	"To continue, open Executions and choose 'Retry with currently saved workflow': only what is missing is charged.";
// The item fails again in a retry, so On Error has to let the others continue.
const RETRY_PAST_ITEM_ADVICE =
	"To get the others at no extra charge, set On Error to 'Continue (using error output)' in Settings, save, and choose 'Retry with currently saved workflow' under Executions.";

const kindOf = (one: JournalValue) =>
	'taskId' in one ? 'speech' : (one.request?.kind ?? 'speech');
const several = (kind: string, count: number) =>
	count > 1 && kind !== 'speech' ? `${kind}s` : kind;

/**
 * Lists in words what requests have made, by the service's ids: `tasks 1, 2; video a`. If the service has given
 * no id, the item is named instead. `max` is the most names of each kind.
 */
function namesOf(requests: ItemRequest[], max?: number): string {
	const ids = new Map<string, string[]>();
	const unnamed = new Map<string, number[]>();
	const note = <T>(map: Map<string, T[]>, kind: string, ...more: T[]) =>
		map.set(kind, [...(map.get(kind) ?? []), ...more]);
	for (const one of requests) {
		if ('taskId' in one) {
			note(ids, 'task', one.taskId);
			continue;
		}
		const { files = [], announcedIds = [] } = one.request ?? {};
		const names = files.length > 0 ? files.map(({ id, fileUrl }) => id ?? fileUrl) : announcedIds;
		if (names.length > 0) note(ids, kindOf(one), ...names);
		else note(unnamed, kindOf(one), one.index);
	}
	return [
		...[...ids].map(([kind, all]) => `${several(kind, all.length)} ${firstOf(all, max)}`),
		...[...unnamed].map(([kind, rows]) => `${several(kind, rows.length)} of ${rowsOf(rows, max)}`),
	].join('; ');
}

/**
 * Says in words what a run that ended early has been charged for, or may have been, and how to get it. After a
 * failure, that is a retry. A run that a person has stopped cannot be retried in n8n, so its results have to be
 * fetched from the service. Returns undefined if nothing was charged. `requests` are those of all items, in
 * order. `failed` is the failure that ended the run; undefined if a person has stopped it.
 */
export function chargeSummary(
	requests: ItemRequest[],
	failed?: { index: number; error: unknown },
): string | undefined {
	const known = requests.filter(({ state }) => state !== 'gone');
	const ofFailed = known.filter(({ index }) => index === failed?.index);
	const others = known.filter(({ index }) => index !== failed?.index);
	const paid = others.filter(({ state }) => state !== 'sent');
	const unsure = others.filter(({ state }) => state === 'sent');
	const unconfirmed = (max?: number) =>
		`Possibly charged (the service didn't confirm): ${namesOf(unsure, max)}.`;
	if (!failed) {
		const kinds = new Set(paid.map(kindOf));
		const ways = [
			kinds.delete('speech') && "the audio with Speech → Collect ('Join Into One File' turned off)",
			kinds.size > 0 && 'videos and images with History → Get Many',
		];
		return sentences(
			paid.length > 0 &&
				`At no extra charge, get ${ways.filter(Boolean).join(', and ')}. Already paid for: ${namesOf(paid, Infinity)}.`,
			unsure.length > 0 &&
				`${unconfirmed(Infinity)} Check History → Get Many, or the provider's website, before you run the workflow again.`,
		);
	}
	const { kind, facts }: Partial<Failure> = failed.error instanceof Failure ? failed.error : {};
	// A request whose outcome is indeterminate is never sent again, so its item fails again in a retry.
	const isIndeterminate = ofFailed.some(({ state }) => state === 'sent');
	const isOfRow =
		isIndeterminate ||
		!(CAUSES_OUTSIDE_OF_ITEM.has(kind) || CAUSES_OUTSIDE_OF_ITEM.has(facts?.means));
	const isPast = isOfRow && paid.length > 0;
	const isCollected = paid.length > 0 || (ofFailed.length > 0 && !isIndeterminate);
	const items = new Set(paid.map(({ index }) => index)).size;
	return sentences(
		isPast ? RETRY_PAST_ITEM_ADVICE : isCollected && RETRY_ADVICE,
		paid.length > 0 &&
			`Already paid for: ${items} other item${items > 1 ? 's' : ''} (${namesOf(paid)}).`,
		unsure.length > 0 && `${unconfirmed()} A retry does not send this again.`,
		isPast && 'A retry uses the rows as they were first read.',
	);
}

const sentences = (...all: Array<string | false>): string | undefined =>
	all.filter(Boolean).join(' ') || undefined;
