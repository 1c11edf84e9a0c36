import { Failure, type FailureKind, type Meaning } from '../../shared/failure';
import { firstOf, rowsOf } from '../../shared/n8n/messages';
import type { JournalValue } from './journal';

/** What is kept of a request of an item of the run. */
export type ItemRequest = JournalValue & { index: number };

/** What has to change is not in the rows, or nothing has: a retry of all of them may bring the missing ones. */
const NOT_OF_A_ROW = new Set<FailureKind | Meaning | undefined>([
	...(['outOfCredit', 'rateLimited', 'tokenRefused', 'overBudget', 'timedOut'] as const),
	...(['unreachable', 'noResponse', 'unavailable', 'foreignServer', 'redirected'] as const),
	...(['credit', 'quota', 'throttled', 'token'] as const),
]);

const WITHOUT_ROW =
	"To continue, open Executions and choose 'Retry with currently saved workflow': only what is missing is charged.";
// In a retry the same row fails again, so it has to be let past.
const PAST_ROW =
	"To get the others at no extra charge, set On Error to 'Continue (using error output)' in Settings, save, and choose 'Retry with currently saved workflow' under Executions.";

const kindOf = (one: JournalValue) =>
	'taskId' in one ? 'speech' : (one.request?.kind ?? 'speech');
const several = (kind: string, count: number) =>
	count > 1 && kind !== 'speech' ? `${kind}s` : kind;

/** What requests have made, as the service names it, the first `max` of a kind: `tasks 1, 2; video a`. */
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
 * In words, what a run that ends early has paid for, or may have, and the only way to it: a retry, or, of a
 * stopped run, of which n8n offers none, the service. Undefined when that is nothing. `requests` are those of
 * its items, in order; `failed` is what ends it, none when the run is stopped.
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
	// What got no clear answer is not sent again: in a retry its row fails again.
	const isUnclear = ofFailed.some(({ state }) => state === 'sent');
	const isOfRow = isUnclear || !(NOT_OF_A_ROW.has(kind) || NOT_OF_A_ROW.has(facts?.means));
	const isPast = isOfRow && paid.length > 0;
	const isCollected = paid.length > 0 || (ofFailed.length > 0 && !isUnclear);
	const items = new Set(paid.map(({ index }) => index)).size;
	return sentences(
		isPast ? PAST_ROW : isCollected && WITHOUT_ROW,
		paid.length > 0 &&
			`Already paid for: ${items} other item${items > 1 ? 's' : ''} (${namesOf(paid)}).`,
		unsure.length > 0 && `${unconfirmed()} A retry does not send this again.`,
		isPast && 'A retry uses the rows as they were first read.',
	);
}

const sentences = (...all: Array<string | false>): string | undefined =>
	all.filter(Boolean).join(' ') || undefined;
