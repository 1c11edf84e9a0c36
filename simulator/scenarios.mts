/**
 * What the scenarios do, by name. A user writes a scenario into a text or prompt as `[sim:NAME]` or `[sim:NAME=VALUE]`.
 */
export const scenarioMeanings: Readonly<Record<string, string>> = {
	'task-fails': 'speech: fails early, without a WebSocket message',
	'task-fails-late': 'speech: fails after 93 %',
	'late-address': 'speech: completed 4 s before the audio address appears; =SECONDS',
	'silent-socket': 'speech: no WebSocket messages for this task',
	'messages-first': 'speech: WebSocket messages before the create response',
	mp3: 'speech: an MP3 file instead of WAV',
	subtitles: 'speech: =vtt or =none instead of SRT',
	'duplicate-progress': 'speech: percentages repeat',
	'backward-progress': 'speech: percentages go back at times',
	unsafe: 'streams: error event UNSAFE_GENERATION',
	'stream-resets': 'streams: connection cut after processing, item in the history later',
	fewer: 'video: one video fewer than asked for (at least one)',
	'plain-json': 'streams: one JSON answer at the end instead of a stream',
	'no-credits': 'all: 402 insufficient_credits; =sentence a 400, =event an error event',
	slow: 'all: =SECONDS the work takes',
	'big-file': 'all: =MIB size of the file',
	'wrong-type': 'all: the file claims another Content-Type; =TYPE',
};

/** The scenarios that a text contains: each name with its value, which is '' if the text gives none. */
export type Scenarios = Map<string, string>;

/** Reads the scenarios in a text, including unknown ones. */
export function scenariosIn(text: string): Scenarios {
	const scenarios: Scenarios = new Map();
	for (const [, name = '', value = ''] of text.matchAll(/\[sim:([\w-]+)(?:=([^\]]*))?\]/g)) {
		scenarios.set(name, value.trim());
	}
	return scenarios;
}

/** Returns the text to speak or to draw: without its scenarios, or unchanged if it contains nothing else. */
export const withoutScenario = (text: string) => text.replace(/\[sim:[^\]]*\]/g, '').trim() || text;

/** Returns the value of the scenario `name` as a number; `fallback` if that is not a number of at least 0. */
export function numberOf(scenarios: Scenarios, name: string, fallback: number): number {
	const value = Number.parseFloat(scenarios.get(name) ?? '');
	return Number.isFinite(value) && value >= 0 ? value : fallback;
}
