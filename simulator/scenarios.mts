/** Scenario words that a person can write into a text or prompt, `[sim:NAME]` or `[sim:NAME=VALUE]`. */
export const scenarioWords: Readonly<Record<string, string>> = {
	'task-fails': 'speech: fails early, without a WebSocket message',
	'task-fails-late': 'speech: fails after 93 %',
	'late-address': 'speech: completed 4 s before the audio address appears; =SECONDS',
	'silent-socket': 'speech: no WebSocket messages for this task',
	'messages-first': 'speech: WebSocket messages before the create response',
	mp3: 'speech: an MP3 file instead of WAV',
	subtitles: 'speech: =vtt or =none instead of SRT',
	'duplicate-progress': 'speech: percentages repeat',
	'backward-progress': 'speech: percentages go back at times',
	unsafe: 'video, image: error event UNSAFE_GENERATION',
	'stream-resets': 'video, image: connection cut after processing, item in the history later',
	fewer: 'video: one video fewer than asked for (at least one)',
	'plain-json': 'video, image: one JSON answer at the end instead of a stream',
	'no-credits': 'all: 402 insufficient_credits; =sentence a 400, =event an error event',
	slow: 'all: =SECONDS the work takes',
	'big-file': 'all: =MIB size of the file',
	'wrong-type': 'all: the file claims another Content-Type; =TYPE',
};

/** The scenario words found in a text, name to value ('' without one). */
export type Scenario = Map<string, string>;

/** Reads the scenario words in a text, known or not. */
export function scenarioOf(text: string): Scenario {
	const scenario: Scenario = new Map();
	for (const [, name = '', value = ''] of text.matchAll(/\[sim:([\w-]+)(?:=([^\]]*))?\]/g)) {
		scenario.set(name, value.trim());
	}
	return scenario;
}

/** What is spoken or drawn of a text: all but its scenario words, unless there is nothing else. */
export const withoutScenario = (text: string) => text.replace(/\[sim:[^\]]*\]/g, '').trim() || text;

/** The number given with a word, or `otherwise` when the word has none. */
export function figure(scenario: Scenario, name: string, otherwise: number): number {
	const value = Number.parseFloat(scenario.get(name) ?? '');
	return Number.isFinite(value) && value >= 0 ? value : otherwise;
}
