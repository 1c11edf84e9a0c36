import {
	Timetable,
	type Finding,
	type NewsKind,
	type Pace,
} from '../../nodes/shared/async/timetable';

/* What a wait is told, in order, and when the reading after it is due. All times in seconds. */

/** What is heard, or what a reading finds; `at` is when. */
type Step = { at: number; hear: NewsKind } | { at: number; found: Finding; live: boolean };

const heard = (at: number, hear: NewsKind): Step => ({ at, hear });
const read = (at: number, found: Finding = 'pending', live = true): Step => ({ at, found, live });
/** As `read`, where nothing delivers news. */
const readAlone = (at: number, found: Finding = 'pending') => read(at, found, false);

const POLL: Pace = { pollMs: 5000 };

function play(steps: Step[], pace: Pace = POLL, leftMs = Infinity) {
	const timetable = new Timetable(pace, leftMs, 0);
	for (const step of steps) {
		if ('hear' in step) timetable.hear(step.hear, step.at * 1000);
		else {
			timetable.begin(step.at * 1000);
			timetable.note(step.found, step.live, step.at * 1000);
		}
	}
	return timetable;
}

test.each<[title: string, due: number, steps: Step[], pace?: Partial<Pace>]>([
	['after the poll interval', 5, []],
	['at once where the outcome may be there already', 0, [], { readFirst: true }],
	['after the same pause again without a channel', 15, [readAlone(5), readAlone(10)]],
	['after twice the pause on a live channel', 15, [read(5)]],
	['after twice that with the next reading', 35, [read(5), read(15)]],
	['after 30 s at most', 95, [read(5), read(15), read(35), read(65)]],
	['after the poll interval at least', 120, [read(60)], { pollMs: 60_000 }],
	['as rarely as told', 105, [read(5), read(15), read(35), read(55)], { longestPauseMs: 50_000 }],
	['anew from the poll interval with each message', 25, [read(5), read(15), heard(20, 'progress')]],
	['at once when the outcome is announced', 0, [heard(2, 'outcome')]],
	['50 ms later when that was too early', 2.05, [heard(2, 'outcome'), read(2)]],
	['then 100 ms later', 2.15, [heard(2, 'outcome'), read(2), read(2.05)]],
	['50 ms after a reading that found it imminent', 5.05, [readAlone(5, 'soon')]],
	['at its pace after one that failed', 11, [readAlone(5, 'soon'), readAlone(6, 'failed')]],
	['5 s later in the end, if still imminent', 25, new Array<Step>(9).fill(readAlone(20, 'soon'))],
	['at once after a refusal', 0, [read(5, 'refused')]],
	['5 s after the channel was lost', 25, [read(5), read(15), heard(20, 'lost')]],
	['no later for a channel that is lost', 10, [readAlone(5), heard(8, 'lost')]],
	['no later for one that comes and goes', 10, [readAlone(5), heard(8, 'lost'), heard(9, 'back')]],
	['sooner once it is back', 22, [read(5), read(15), heard(20, 'back')], { catchUpMs: 2000 }],
])('reads %s', (_, due, steps, pace = {}) => {
	expect(play(steps, { ...POLL, ...pace }).dueAt).toBe(due * 1000);
});

test('ends the quick succession when an announced outcome does not come', () => {
	const steps = [0, 0.05, 0.15, 0.35, 0.75, 1.55, 3.05, 6.05, 11.05].map((at) => read(at));
	expect(play([heard(0, 'outcome'), ...steps]).dueAt).toBe(16_050);
});

test.each([
	[1, 0.9],
	[5, 4.5],
	[60, 58],
	[7200, 7198],
])('of %d s leaves time for a last reading at %d s', (seconds, last) => {
	const timetable = play([], { pollMs: 1e9 }, seconds * 1000);
	expect(timetable.dueAt).toBe(last * 1000);
	expect(timetable.needsTurn(last * 1000)).toBe(false);
	timetable.begin(last * 1000);
	expect(timetable.lastAt).toBe(Infinity);
});

test.each<[turn: boolean, title: string, steps: Step[]]>([
	[true, 'silence', []],
	[true, 'mere progress', [heard(2, 'progress')]],
	[true, 'a lost channel', [heard(2, 'lost')]],
	[false, 'an announcement', [heard(2, 'outcome')]],
	[false, 'a reading that found the outcome imminent', [read(5, 'soon')]],
])('needs a turn (%p) after %s', (turn, _, steps) => {
	expect(play(steps).needsTurn(10_000)).toBe(turn);
});

test.each<[reason: string, title: string, steps: Step[], pace?: Partial<Pace>]>([
	['first', 'at the beginning', [], { readFirst: true }],
	['silence', 'at the beginning, if that can wait', []],
	['silence', 'after a reading', [readAlone(0)], { readFirst: true }],
	['catchUp', 'once the channel is back', [heard(2, 'back')]],
	['silence', 'once a message has come over it', [heard(2, 'back'), heard(3, 'progress')]],
])('gives %s as the reason %s', (reason, _, steps, pace = {}) => {
	expect(play(steps, { ...POLL, ...pace }).reason).toBe(reason);
});

test('a turn that did not come in time puts off what nobody announced', () => {
	const first = play([], { ...POLL, readFirst: true });
	first.missTurn();
	expect(first.dueAt).toBe(5000);
	const announced = play([heard(2, 'outcome')]);
	announced.missTurn();
	expect(announced.dueAt).toBe(0);
});

test('gives up the reading under way at the first announcement only', () => {
	const timetable = play([]);
	const givesUp = (kind: NewsKind) => timetable.hear(kind, 2000);
	expect((['progress', 'lost', 'back'] as const).filter(givesUp)).toEqual([]);
	expect(givesUp('outcome')).toBe(true);
	expect(givesUp('outcome')).toBe(false);
});
