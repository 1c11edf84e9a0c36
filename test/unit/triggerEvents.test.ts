import { mayReport } from '../../nodes/shared/n8n/triggerEvents';

test.each<[string, parameters: object, speech: boolean, generations: boolean]>([
	['nothing, which means the defaults', {}, true, false],
	['another event', { events: ['generated'] }, false, true],
	['both', { events: ['progress', 'generated'] }, true, true],
	['its tasks', { events: ['completed', 'generated'], taskIds: '1, 2' }, false, true],
	['an expression for its events', { events: '={{ $json.events }}' }, true, true],
	['an expression for its tasks', { taskIds: '={{ $json.ids }}' }, true, false],
])('a trigger that names %s may report the right ones', (_, parameters, ...expected) => {
	expect([true, false].map((isSpeech) => mayReport(parameters as never, isSpeech))).toEqual(
		expected,
	);
});
