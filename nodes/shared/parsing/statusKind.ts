import { asText } from './values';

/* Finds out what a status word means: that of a task, a generation or a history entry, or the name of an event. */

/** What a status word means. After `seemsFailed`, a later status may still be another one. */
type StatusKind = 'completed' | 'failed' | 'inProgress' | 'seemsFailed';

/** The usual words for failure. */
const FAILURE =
	'error|fail(?:ed|ure)?|violation|nsfw|(?:filter|moderat|block|reject|bann|cancell?)ed';
/** What follows `not` in words for failure. Before any other word, `not` and `no` deny a failure. */
const NOT = 'found|supported|allowed|permitted|available';
const NO_DENIAL = `(?!not?[ _.:/-](?!${NOT}))`;

/** The status words by their kind. The first row that matches counts; other words, such as `succeeded`, have no kind. */
const STATUS_WORDS: ReadonlyArray<readonly [StatusKind, RegExp]> = [
	['completed', /^completed$/i],
	// At the end of a longer name, too, such as `moderation_blocked`, but not at the end of a sentence.
	[
		'failed',
		new RegExp(`^${NO_DENIAL}(?:[\\w.:/-]*[_.:/-]|\\w+ (?=moderated))?(?:${FAILURE})$`, 'i'),
	],
	[
		'inProgress',
		/(?<!miss|throttl)ing$|(?:^|[.!] )\w+(?<!miss|throttl)ing[.…]+$|^(?!.*(?:fail|error|inactive|not_|reject|expire|time_?out|full(?![a-z])|失败)).*(?:queue|pending|active|progress|start|wait|submit|creat|schedul|accept|being|中(?=$|[.,，。…])|正在|等待)/i,
	],
	[
		'seemsFailed',
		new RegExp(
			`^${NO_DENIAL}(?:.*[^a-z])?(?:${FAILURE}|errored|abort(?:ed)?|deleted|exception|expired|not[ _](?:${NOT})|stopped|time[ _-]?d?[ _-]?out|refused|declined|denied|terminated|killed|dead|crash(?:ed)?|unsuccessful|exceeded|insufficient\\w*|invalid|cancel$|can(?:not|['’]t)|could ?n[’']?o?t|unable|失败|拒绝|超时)(?![a-z])`,
			'i',
		),
	],
];

/** Returns what a status word seems to mean, also an unknown one, or a sentence in its place. */
export const statusKind = (status: unknown): StatusKind | undefined =>
	STATUS_WORDS.find(([, pattern]) => pattern.test(asText(status) ?? ''))?.[0];
