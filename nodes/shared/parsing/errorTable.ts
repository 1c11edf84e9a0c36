import type { ErrorMeaning } from '../failure';
import { asText, truncate, isRecord, parseJson } from './values';

/* Finds out what an error is about, from its text and its status (examples: test/unit/errorTable.test.ts). */

/**
 * Names of fields whose text may say what went wrong. `npm run check` uses them, too.
 *
 * @public
 */
export const ERROR_TEXT_FIELD =
	/^err|error|fault|filter|block|fail|reject|refus|(?:msg|reasons?)$|^(?:code|kind|status|type|message|details?|cause)$/i;
/** Names of fields that repeat what the user has sent. */
const ECHOED_FIELD = /^(?:input|prompt|request|body|text|params|voice|settings)$/i;
/** Finds what the user has sent where a sentence quotes it, as in “failed for prompt "…"”. */
const ECHOED_QUOTE =
	/(?<=\b(?:prompt:?|input|text)\s)(?:"[^"]*(?:"|$)|“[^”]*(?:”|$)|'[^]*?(?:'(?!\w)|$))/gi;

/** Finds an error text in JSON that is broken or was truncated. */
const TEXT_IN_BROKEN_JSON = /"(?:message|detail|error|msg|reason)"\s*:\s*"((?:[^"\\]|\\.){1,2000})/;

/**
 * Returns the texts in a value, also nested ones, that may say what went wrong. `isErrorField` is false if the value
 * is in a field whose own text is about something else.
 */
export function errorTextsIn(value: unknown, isErrorField = true): string[] {
	const text = asText(value);
	const json = text && /^[[{]/.test(text) ? parseJson(text) : undefined;
	if (text !== undefined && json === undefined) {
		const errorText = TEXT_IN_BROKEN_JSON.exec(text)?.[1] ?? text;
		return isErrorField ? [truncate(errorText, 1000)] : [];
	}
	const inner = json ?? value;
	if (Array.isArray(inner)) {
		return inner.slice(0, 20).flatMap((entry) => errorTextsIn(entry, isErrorField));
	}
	const fields = Object.entries(isRecord(inner) ? inner : {});
	return fields.flatMap(([key, field]) =>
		ECHOED_FIELD.test(key) ? [] : errorTextsIn(field, ERROR_TEXT_FIELD.test(key)),
	);
}

/** Returns the texts of `value` that may say what went wrong, joined, in lower case, without `_` and `-`. */
const normalizedText = (value: unknown): string =>
	truncate(
		errorTextsIn(value)
			.map((text) => text.replace(ECHOED_QUOTE, ''))
			.join('. '),
		4000,
	)
		.replace(/[\s_-]+/g, ' ')
		.replace(/’/g, "'")
		.replace(/([a-z])([A-Z])/g, '$1 $2')
		.toLowerCase();

/** A meaning, and the patterns of its normalized texts. Bounded repetitions keep them fast. */
type MeaningRow = readonly [ErrorMeaning, ...RegExp[]];

/** Words with which the service asks to wait for another task of the account. */
const WAIT_PATTERN =
	/(?:previous|another|existing|already) (?:\w{1,20} ){0,3}(?:in progress|running|processing|pending)|wait (?:for|until) [^.]{0,40}(?:finish|complete|ends?\b)/;
/** Other words with which a service says that too many tasks are in flight. */
const CONCURRENCY_PATTERN =
	/concurren|simultaneous|parallel|at once|same time|in progress|(?:max|limit|many)[^.]{0,40} (?:running|active|pending|queued) /;

/** Words that say more than an HTTP status. The first row that matches counts. */
const SPECIFIC_PATTERNS: readonly MeaningRow[] = [
	[
		'quota',
		/(?:daily|today's|weekly|monthly|per (?:day|week|month))(?! spend)[^.]{0,40} (?:quota|limit|allowance)/,
		/(?:quota|limit|allowance)[^.]{0,40} (?:per (?:day|week|month)|today|this (?:day|week|month))/,
		// An account's own limit, which pauses the model (Volcengine), and the quota of Azure's API Management.
		/set limit exceeded|reached the set inference limit|call volume quota/,
		/free (?:\w{1,20} )?quota (?:exceed|exhaust|used)|(?:今日|每[日天周月])[^，。]{0,12}(?:限|额|用完|用尽)|(?:使用|用量)上限/,
	],
	[
		'throttled',
		WAIT_PATTERN,
		/(?:concurren\w{0,10}|simultaneous|parallel)[^.]{0,40} (?:limit|max|reached|exceeded)/,
		/(?:limit|max|quota)[^.]{0,40} (?:concurren|simultaneous|parallel|(?:running|active|pending|queued) )/,
		/(?:running|active|pending|queued) (?:tasks|jobs|videos|requests|generations)[^.]{0,40} (?:limit|max)/,
		/(?:generating|processing|running|tasks?|jobs?|requests?) at (?:once|the same time|a time)/,
		/too (?:many|much) (?:\w{1,20} ){0,2}(?:requests|tasks|jobs|videos|calls|connections|attempts|generations|traffic|at once)/,
		/(?<!(?:frame|bit|sampl\w{1,3}|speech|speaking) )\brate ?(?:limit|over)|throttl|too (?:quickly|often|frequent)|(?<!\b(?:speed|motion|speech|voice|video) (?:is |was )?)too fast|frequent (?:operation|request)|slow(?:ing)? down|limit[^.]{0,20} requests|frequency (?:limit|is too)/,
		/(?:limit|quota|exceed\w{0,3}|max)[^.]{0,60}(?<!frames|words|samples|bits) per (?:second|minute|min)\b/,
		/overload|at capacity|queued? (?:\w{1,20} ){0,2}(?:full|max|exceed|reach)|high demand|(?<!background [^.]{0,20})\bbusy\b(?! (?:background|pattern|scene|street|image|picture|photo)s?\b)|(?:heavy|high|excessive|peak) (?:load|traffic|usage)/,
		/(?:no|not enough|insufficient|lack of|exceed\w{0,3}|over) (?:\w{1,20} ){0,2}(?:capacity|gpus?|compute|workers?)\b|capacity (?:\w{1,20} )?(?:exceed|reach|limit|full)/,
		/限流|频繁|过快|并发|同时[^，。]{0,12}上限|排队|队列|繁忙|饱和|(?<!语音|音频|采样)(?:速率|频率)(?:限制|过高)|访问量过|(?:任务|请求)(?:次?数量?)?过多|算力(?:资源)?不足|(?:系统|服务|计算)资源不足/,
	],
	[
		'quota',
		/hourly[^.]{0,40} (?:quota|limit|allowance)/,
		/(?:used|reached|exceeded|hit)[^.]{0,60} (?:billing (?:period|cycle)|plan|(?:usage|trial|generation|video|account) limit)|usage limit/,
		/(?:usage|trial|generation|video|account|plan) limits? (?:\w{1,20} ){0,2}(?:reach|exceed)/,
	],
	[
		'credit',
		/insufficient (?:\w{1,40} ){0,2}(?:credit|quota|balance|fund|point|coin)/,
		/enough (?:\w{1,40} ){0,2}(?:credit|quota|balance|fund|point|coin|token)/,
		/out of (?:credit|quota|fund|balance)|no (?:\w{1,20} )?credits? (?:left|remain)|resource pack/,
		/\b(?:credit|balance|fund|point|coin)s?\b[^.]{0,40}(?:exceeded|exhausted|depleted|used up|too low|not enough|insufficient|empty)/,
		/(?:exceed|exhaust)\w{0,10}[^.]{0,30}(?:credit|balance|fund)|quota[^.]{0,20}not enough/,
		/\b(?:0|only (?:have )?\d+) (?:credit|character)s? remaining|(?:credit|character)s? remaining(?:: 0\b|.{0,40}\b(?:while|but|costs|needs|needed|required)\b)/,
		/credits? (?:are |is )?required|top(?:ping)? ?up|recharge|arrear|overdue/,
		/used up all your (?:\w{1,20} )?(?:credit|minute|character|second)|billing (?:hard )?limit|spend(?:ing)? limit|add (?:more )?(?:credit|fund)|buy (?:more )?credit/,
		/(?:余额|额度|积分)[^，。]{0,6}(?:不足|用尽|用完)|充值|欠费/,
	],
	[
		'quota',
		/(?:exceed|exhaust|reach|hit|used)\w{0,10}\b[^.]{0,40}(?<!disk|storage) quota|(?<!(?:disk|storage) )quota[^.]{0,40}(?:exceed|exhaust|reach|used up)/,
	],
	[
		'not_allowed',
		/captcha|(?:unusual|suspicious) activity|are (?:a )?human|(?<!request )(?:white|allow)list|model access|access to model denied|insufficient permission/,
		/(?:account|user|organi[sz]ation|workspace|project) (?:\w{1,20} ){0,3}(?:locked|suspended|banned|disabled|deactivated|blocked|restricted|frozen)/,
		/free (?:user|tier|plan|account)|paid (?:user|plan|subscription|only)|(?:up|down)grade (?:your|to)|upgrade required/,
		/(?:premium|pro|enterprise|higher|business) (?:plan|tier|subscription|account|user|only)/,
		/(?:plan|tier|subscription) (?:\w{1,20} ){0,2}(?:required|does|doesn't|is not|needed)|requires? (?:a |an )(?:\w{1,20} ){0,2}(?:plan|subscription|tier)/,
		/(?:not|n't) (?:\w{1,20} ){0,2}(?:available|allowed|included|enabled|supported|permitted|accessible) (?:in|for|on|with|under|by|to|from) (?:your|the current|current|free|this (?:plan|account|user|region|country|organi[sz]ation|project|key))/,
		/(?:model|feature|voice|endpoint|api|permission)\b[^.]{0,40} (?:is|are|been|was) (?:not|n't) (?:yet )?(?:been )?(?:enabled|activated|granted)/,
		/must be (?:verified|approved)|not (?:eligible|entitled)|not (?:yet )?(?:activated|subscribed)/,
		/(?:\b(?:not|no|without|lacks?|missing)|n't)(?: \S{1,20}){0,4} (?:access to|permissions?|scopes?)\b|permissions? to |not authori[sz]ed to/,
		/(?:region|country|territory|location)\b[^.]{0,30}(?:not (?:supported|available|allowed)|restricted|blocked)|unsupported (?:country|region)/,
		/voice (?:\w{1,20} )?(?:limit reached|not (?:allowed|permitted|available|included))/,
		/(?:账[户号]|用户)[^，。]{0,6}(?:锁定|封禁|停用|冻结)|异常行为|无权|没有权限|未(?:开通|开放|激活)/,
	],
	[
		'moderation',
		/nsfw|unsafe|\bsafety\b|\bfiltered\b|(?:filter|inspection) failed|(?:safety|content|audio|input|output|media|people|rai) (?:filter|checker|moderat)/,
		/moderation|moderated|content (?:management |against )?(?:policy|guideline|restrict|violat|blocked|rejected|is not allowed)/,
		/(?:violat\w{0,5}|against our)[^.]{0,60}(?:polic|guideline|terms|rule|standard)|(?:usage|community|content|policy|policies) (?:guidelines?|polic\w{1,4}|violat\w{1,4}|restrictions?)/,
		/flagged|prohibited|inappropriate|(?<!case )sensitive|infring|guardrail|risk (?:control|not pass)|danger|offensive|harmful|sexual|nudity|explicit content|violence|hate speech/,
		/(?:prominent|public|real|famous) (?:people|person|figure)|people image|celebrit|likeness|copyright|intellectual property|\bminors\b|(?:error|contains) minor(?:$|\.)|minor (?:upload|detect|safety)/,
		/(?:prompt|image|request|input|output|content)s? (?:\w{1,20} ){0,2}(?:blocked|refused) by|block reason|blocked content|(?:prompt|content) (?:was |is )?blocked/,
		/responsible ai|(?:banned|forbidden|disallowed) (?:prompt|word|content|term)|\brai\b|rephras|modify your (?:prompt|request)|different prompt/,
		// A check that still runs (“…中”, “正在…”, “等待…”) or was passed (“通过”) is no refusal.
		/^(?!.*(?:中(?=$|[.,，。…])|正在|等待|(?<![未不没无][能有法]?)通过)).*(?:(?<!大小写)敏感|违[规禁]|不符合[^，。]{0,8}规|合规|审核|风控|安全(?:策略|校验))/,
	],
	[
		'token',
		/(?:invalid|expired|missing|wrong|revoked|incorrect|bad|illegal) (?:(?:x |your )?(?:api|access|bearer|auth|session|secret) ){0,2}(?:tokens?|(?:api|access|secret) key|credentials?)\b(?!\W{1,3}(?:at|in (?:the )?(?:json|ssml|prompt|text)|line)\b)/,
		/(?:invalid|expired|missing|wrong|revoked|incorrect|bad) (?:x )?(?:api|access|secret) ?keys?\b|missing authori[sz]ation/,
		/(?:token|api key|jwt|credentials?|authori[sz]ation)\b[^.]{0,30}(?:expired|invalid|revoked|not valid|malformed|not recogni|not found|is missing)/,
		/(?:token|api key) not match|(?:token|authori[sz]ation) (?:is|cannot be) empty|\bauth(?:entication)? (?:error|fail|required|credentials)|(?:session|login) (?:\w{1,20} )?(?:fail|expired|invalid)|no (?:api key|token|authori[sz]ation)\b|(?:could|can)(?: ?not|n't) (?:validate|verify) (?:the |your )?(?:credentials|token)|(?:please )?(?:log|sign) ?in again/,
		/(?:鉴权|身份验证|认证|登录)[^，。]{0,4}(?:失败|失效|过期)|(?:无效|失效|过期|错误)的?(?:令牌|密钥)|(?:令牌|密钥)[^，。]{0,4}(?:无效|失效|过期|错误)/,
	],
	[
		'voice',
		/voice[^.]{0,80}?(?:invalid|not (?:be )?found|unknown|not exist|missing|required)/,
		/(?:invalid|unknown|unsupported) (?:\w{1,20} or )?voice/,
	],
];

/** The meaning of an HTTP status. It counts only if no row of the table above matches; for 429 and 402, see `meaningOf`. */
const MEANING_BY_STATUS: Readonly<Record<number, ErrorMeaning>> = {
	401: 'token',
	402: 'credit',
	403: 'token',
};

/** Words that say no more than an HTTP status. They count only if neither of the tables above tells the meaning. */
const GENERAL_PATTERNS: readonly MeaningRow[] = [
	[
		'length',
		/(?:text|prompt|input|string|script|content|sentence)s? (?:(?:is|are|was|that|length|way|much|far) ){0,3}too long|too many characters|max character limit|(?:text|ssml|prompt|script)\W{0,2} is longer than/,
		// A plan may have a limit of characters, too. Splitting the text would not help then.
		/^(?!.*\b(?:plan|subscription|account)\b)(?=.*\b(?:text|input|string)\b)(?=.*(?:exceed|max|limit|at most)).*(?:characters?|length)\b/,
		/文本(?:长度)?(?:过长|超)|(?:提示词|prompt) ?(?:过长|超长|长度超)/,
	],

	[
		'throttled',
		/(?:^|\. |error |code |http )429(?:\d{2,3})?\b|resource (?:has |been |is ){0,2}exhausted|requests? limit (?:reach|exceed)/,
	],
	['credit', /payment required/],
	['token', /unauthori[sz]ed|unauthenticated|not authenticated/],
	[
		'not_allowed',
		/(?<!extra )forbidden(?! char)|permission denied|access denied|not authori[sz]ed/,
	],
	[
		'unavailable',
		/internal (?:server )?(?:error|issue|failure)|server error|(?:service|system|unexpected) error(?!:)|while processing (?:your|the|this) request(?!:)/,
		/unavailable|timed? ?out|deadline exceeded|bad gateway|maintenance|\binterrupted\b(?! by)|(?:runner|worker|server|connection) disconnected/,
		/try again (?:later|shortly|in [^.]{0,15}(?:moment|while|minute|second|hour|\d ?[smh]\b))|(?:please retry|retry (?:your|the) request)(?=$|[.,;!]| (?:later|shortly|\())/,
	],
];

const findMeaning = (table: readonly MeaningRow[], normalized: string) =>
	table.find(([, ...patterns]) => patterns.some((pattern) => pattern.test(normalized)))?.[0];

/**
 * Returns the meaning of a refusal or a failure; undefined if it is unknown. Do not call this for a successful answer,
 * because its words may match by chance.
 *
 * @param value the parsed JSON or the text of the answer
 * @param status its HTTP status; 0 if there is none
 */
export function meaningOf(value: unknown, status = 0): ErrorMeaning | undefined {
	const normalized = normalizedText(value);
	const specificMeaning = findMeaning(SPECIFIC_PATTERNS, normalized);
	// A 402 that mentions a quota is about the credit. A 429 may advertise a larger plan in its text, so of its words
	// only those about quota and credit count.
	if (status === 402 && specificMeaning === 'quota') return 'credit';
	if (status === 429 && specificMeaning !== 'quota' && specificMeaning !== 'credit')
		return 'throttled';
	const generalMeaning = findMeaning(GENERAL_PATTERNS, normalized);
	// With a server error, “permission denied” is probably about the server itself.
	const isAboutServer = status >= 500 && generalMeaning === 'not_allowed';
	return (
		specificMeaning ?? MEANING_BY_STATUS[status] ?? (isAboutServer ? undefined : generalMeaning)
	);
}

/** True if a text says that too many tasks are in flight. */
export const mentionsConcurrency = (text?: string): boolean =>
	[CONCURRENCY_PATTERN, WAIT_PATTERN].some((pattern) => pattern.test(normalizedText(text)));
