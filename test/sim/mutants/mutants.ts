import type { Habit } from "../habits.ts";
import {
  before,
  type Change,
  condition,
  consequence,
  moveAfter,
  moveBefore,
  operand,
  remove,
  text,
  value,
  without,
  withoutOperand,
} from "./changes.ts";

export type Mutant = {
  name: string;
  /** The rule that a marker in the source names: `// rule: look-before-home` stands above the code that keeps the rule. */
  rule: string;
  change: Change;
  and?: { rule: string; change: Change };
  /** The additional setting that a history must have, because the damaged code has no effect without it. Others are not played. */
  habit?: Habit["kind"];
};

type Row = readonly [
  name: string,
  rule: string,
  change: Change,
  more?: Omit<Mutant, "name" | "rule" | "change">,
];

/** Advances the cursor before the page's work is done. No page has so many entries, so the cursor is written at once. */
const ADVANCE = "progress.reach(page, 1_000_000)";
const CLAIM_AGAIN = `const crashes = Promise.resolve(new Map());
for (const { job, home } of met.crashed) {
  const now = ctx.clock();
  const mine = { token: tokens.get(job.id) ?? "", leaseEnd: now + 30_000, claimedAt: now };
  const expect = { revision: job.revision, state: "running", leaseEnd: home.leaseEnd };
  const over = await ctx.pool.change({ key: { pk: home.pk, sk: home.sk }, expect, set: mine }, now + 60_000);
  if (over.changed) take(job);
}`;
const STILL_WAITS = '(await readHomes(ctx, [before.item.id]))[0]?.state === "scheduled"';
/** Five more reads for each run. The budget leaves room for only four. */
const READ_OFTEN =
  "for (const { id } of runs) for (let i = 0; i < 5; i++) await readReadableHomes(ctx, [id], 'settling jobs');";
const STOPPED = '[...outcomes.values()].some(({ outcome }) => outcome === "held") ? entries[0] : $&';
const NO_WAIT = "{ holds: $1.map((home) => ({ home, until: home.dueAt })), left: [] }";
const CHANGE = /changeOf\(.*\)/s;
/** The write of `changeOf`, without its condition on these attributes. */
const dropping = (...names: readonly string[]): string =>
  `(({ expect: { ${names.map((name) => `${name}: _${name}, `).join("")}...expect }, ...made }) => ({ ...made, expect }))($&)`;
const LIST = /[\w.]+(?=\.\w+\(\()/;

/** The mutants: each removes or changes a rule of the protocol. The first ones are mistakes that a naive version would make. */
const ROWS: readonly Row[] = [
  ["put without its condition", "insert-only-if-absent", remove],
  ["a repeat stores a job again that has ended", "ended-job-is-not-stored-again", value("false")],
  ["a refused statement of a batch counts as applied", "refused-statement-not-applied", value('"applied"')],
  ["look filed after the home", "look-before-home", moveBefore("near-job-sent-after-move")],
  ["a move to a past time files its look in the past", "no-move-into-the-past", value("request.dueAt")],
  ["move without the revision", "move-only-what-was-read", without("revision")],
  ["a move does not notice a call that has kept the job", "move-only-what-was-read", without("once")],
  ["move leaves expiresAt", "move-clears-the-last-run", without("expiresAt")],
  ["move leaves the claim", "move-clears-the-last-run", without("token", "leaseEnd")],
  ["clock not checked after a move", "near-job-sent-after-move", remove],
  ["clock not checked after filing", "near-job-sent-after-filing", remove],
  ["no deadline for writers", "writes-have-a-deadline", condition(true)],
  ["claim without the revision", "claim-by-revision", without("revision")],
  [
    "a claim replaces a claim whose lease has ended",
    "claim-settles-a-crashed-run",
    text(/^[\s\S]*$/, CLAIM_AGAIN),
  ],
  ["lease compared without a margin", "lease-outlasts-the-clocks", withoutOperand("+", 1)],
  ["lease recorded shorter than the run", "lease-covers-the-run", value("$& - 45_000")],
  [
    "a claim's token computed from its message",
    "claim-token-is-drawn",
    text(/(\w+)\.id, .*?\)/, "$1.id, $1.id + $1.revision"),
  ],
  ["a repeated claim does not recognise its own token", "claim-knows-its-own-token", condition(false)],
  [
    "a batch of claims waits for a throttled claim",
    "batch-waits-for-no-throttled-claim",
    operand("+", 1, "30 * $&"),
  ],
  [
    "crashed run never settled by a claim",
    "claim-settles-a-crashed-run",
    value('Promise.resolve(new Map(met.crashed.map(({ job }) => [job.id, { verdict: "void" }])))'),
  ],
  ["settle without the token", "settle-by-token", without("token")],
  ["dead marked before the envelope", "envelope-before-dead-home", moveAfter("dead-home-comes-last")],
  [
    "a dead letter deleted before its job is dead",
    "letter-stays-until-its-job-is-dead",
    withoutOperand("&&", 0),
  ],
  ["an envelope from SQS's own redrive counts as void", "envelope-redrives-its-job", remove],
  ["key taken without checking its holder", "key-taken-from-its-holder-as-read", without(-1)],
  [
    "a keyed job is filed although another job has its key",
    "key-with-its-home",
    text(/expect: \{ id: item\.id \}/, "expect: {}"),
  ],
  ["one refused job makes its whole pack dead", "refused-pack-sent-one-by-one", operand(">", 1, "10")],
  ["the envelope of a job that cannot be redriven is dropped", "envelope-is-never-lost", remove],
  ["a redriven job does not take its key", "redriven-job-takes-its-key", remove],
  ["keys that crashed processes left are not freed", "audit-frees-keys-of-finished-jobs", remove],
  ["no once item of a keyed job", "once-item-with-its-key", remove],
  ["no once item of an event's job", "once-item-with-its-home", text(/, name\(noted\)\.write/, "")],
  ["no once item of a call without keys", "shared-once-item-before-its-homes", condition(true)],
  ["a batch takes the once item of another call for its own", "first-call-names-the-batch", value("true")],
  ["once item ignored when its job is done", "once-item-outlives-its-job", operand("&&", 1, STILL_WAITS)],
  [
    "cursor advanced before the send",
    "send-before-cursor",
    before(`if (!(await ${ADVANCE})) return "stopped";`),
  ],
  [
    "cursor advanced to the clock, not to the limit",
    "cursor-stops-at-the-limit",
    text(/page\.to/, "beforeTime(ctx.clock() + LOOKAHEAD)"),
  ],
  [
    "gaps between ranges that are done not swept",
    "gaps-are-swept",
    text(/\[swept, \.\.\.ahead\.map\(.*?\)\]/, "[ahead.at(-1)?.to ?? swept]"),
  ],
  ["the last entry of a page not audited", "each-entry-audited", text(LIST, "$&.slice(0, -1)")],
  ["the end of a slice taken for the end of its page", "slice-ends-behind-its-last-entry", condition(false)],
  [
    "the end of a page taken for the end of its bucket",
    "page-ends-where-the-next-begins",
    withoutOperand("??", 0),
  ],
  ["the last entry of a page not looked at", "each-entry-swept", text(LIST, "$&.slice(0, -1)")],
  ["looks that TTL removes half an hour past their time", "looks-outlast-an-outage", value("1_800_000")],
  ["TTL in ms", "ttl-in-seconds", withoutOperand("/", 1)],
  ["due at half the delay", "due-after-the-whole-delay", operand("+", 1, "$& / 2")],
  ["the stored body differs from the request", "body-stored-as-given", value('"1"')],
  ["every message sent twice", "each-message-sent-once", text(/^.*? = (.*)$/s, "$1\n$&")],
  ["homes read five times at each settle", "settle-reads-only-what-was-refused", before(READ_OFTEN)],
  ["no audit", "audit-repairs-before-its-cursor", remove],
  ["audit's new look omitted", "audit-files-the-next-looks", remove],
  [
    "audit's cursor before its looks",
    "audit-repairs-before-its-cursor",
    before(`isOurs = await ${ADVANCE};\nif (!isOurs) break;`),
  ],
  ["audit does not stay behind the sweep", "audit-trails-the-sweep", withoutOperand("-", 1)],
  ["audit stays only one minute behind the sweep", "audit-trails-the-sweep", operand("-", 1, "$& / 10")],
  [
    "an entry that cannot be read stops its shard",
    "unreadable-entry-stops-no-shard",
    consequence('throw new Error("unreadable");'),
  ],
  ["audit passes a running job without a look", "running-job-has-a-look", remove],
  [
    "new shard's cursors start at the sweep's limit",
    "new-cursor-starts-before-all-jobs",
    operand("-", 1, "-180_000"),
  ],
  ["meta raised before the new cursors", "cursors-before-more-shards", before("if (!meta)")],
  [
    "a message's jobs not held until they are due",
    "message-held-until-its-job-is-due",
    value("0"),
    { and: { rule: "only-due-jobs-start", change: withoutOperand("||", 1) } },
  ],
  ["three seconds of delay too many", "no-delay-past-the-start", value("$& + 3")],
  ["a cancel changes a running job", "cancel-only-as-filed", text(CHANGE, dropping("state"))],
  [
    "messages of the queue carry Lineage",
    "lineage-not-passed-on",
    text(/!(\w+)\.\w+\(.*?\)/, "$1.length > 0"),
  ],
  ["unprocessed keys taken as absent", "unprocessed-keys-read-again", withoutOperand("??", 0)],
  [
    "an undecided statement taken as applied",
    "undecided-statement-asked-again",
    consequence('results[index] = "applied";'),
  ],
  ["a message that SQS did not accept counts as sent", "failed-message-not-sent", condition(true)],
  [
    "a near untracked job acknowledged before SQS has it",
    "untracked-acknowledged-once-sent",
    condition(false),
  ],
  ["audit passes a held job without a look", "held-job-has-a-look", before("if (!isHeld)")],
  [
    "a parked job gets no note",
    "parked-job-has-a-note",
    text(/await .*?\((\w+), .*?\)/, '$1.map(() => "inserted")'),
  ],
  ["a claim ignores a pause", "claim-asks-for-a-pause", value("Number.NEGATIVE_INFINITY")],
  ["a paused topic holds its shard's cursor", "held-jobs-stop-no-cursor", value(STOPPED)],
  [
    "Lambda never polls the queue of a resumed topic again",
    "lambda-follows-a-resume",
    text(/^.*, (\w+)\);$/, "if (!$1) $&"),
  ],
  ["a resume ended before Lambda polls", "resume-ends-once-lambda-polls", remove],
  ["a hold without its look", "look-before-hold", value('looks.map(() => "exists" as const)')],
  ["the start of a held job is ignored", "no-start-before-the-hold-ends", without(-1)],
  [
    "jobs handed over beyond their topic's limit",
    "handed-over-jobs-keep-the-limit",
    text(/await \w+\(.*?(\w+)\)/, NO_WAIT),
  ],
  [
    "starts given an hour ahead, to jobs that may be cancelled",
    "starts-given-shortly-ahead",
    operand("+", 1, "48 * $&"),
  ],
  ["a job that gets no start of its limit not parked", "job-without-a-start-is-parked", remove],
  [
    "jobs that are parked for a limit are never released",
    "limited-topics-are-released",
    text(/(?<= : )[^:]*(?=;)/, "false"),
  ],
  ["starts that others booked not counted", "starts-of-others-count", value("jobs.length")],
  ["a second start for a job that has a start", "one-start-for-each-job", value("false")],
  [
    "webhook-id different for each attempt",
    "one-webhook-id-until-a-redrive",
    text(/\w+\((\w+)\)/, '[$1.id, $1.attempt].join("-")'),
  ],
  ["webhook-id the same after a redrive", "one-webhook-id-until-a-redrive", text(/\w+\((\w+)\)/, "$1.id")],
  ["a redirect taken as done", "redirect-is-not-done", operand("<", 1, "400")],
  ["a job's own callbackUrl is ignored", "callback-url-of-the-job-first", withoutOperand("??", 0)],
  ["an occurrence without its once item", "occurrence-filed-once", without("once")],
  [
    "all occurrences of a year have the same name",
    "occurrence-named-by-its-time",
    text(/toISOString\(\)/, "$&.slice(0, 4)"),
  ],
  ["schedules of jobs stay when they have fired", "fired-schedule-is-deleted", remove],
  [
    "an event leaves no tombstone",
    "event-leaves-a-tombstone",
    text(/\w+\) : .*(?=;)/, "[]) : true"),
    { habit: "events" },
  ],
  [
    "the tombstone is not checked when a job is filed",
    "filed-with-the-tombstone-as-read",
    remove,
    { habit: "events" },
  ],
  [
    "the key is not checked when an event leaves its tombstone",
    "tombstone-with-the-key-as-read",
    without(-1),
    { habit: "events" },
  ],
  [
    "an event that was applied before counts as new",
    "event-applied-once",
    withoutOperand("||", 0),
    { habit: "events" },
  ],
  [
    "an event earlier than the last one counts as new",
    "event-applied-once",
    withoutOperand("||", 1),
    { habit: "events" },
  ],
  [
    "an event that has found its job also cancels in advance",
    "only-an-unmet-job-is-cancelled-ahead",
    condition(false),
    { habit: "events" },
  ],
  [
    "an event cancels a job that a later event has asked for",
    "job-a-later-event-wants-stays",
    value("home.createdAt - 15_000 <= until"),
    { habit: "events" },
  ],
  [
    "an event files or replaces a job that a later event has cancelled",
    "later-cancel-stands",
    value("false"),
    { habit: "events" },
  ],
  [
    "an earlier event files again once the later event's job has ended",
    "earlier-event-changes-nothing",
    text(/at < askedFor\(holder\)/, "!isFinished(holder) && $&"),
    { habit: "events" },
  ],
  [
    "an event that keeps a job does not record its time",
    "keep-asks-for-the-job",
    text(/at !== undefined/, "false"),
    { habit: "events" },
  ],
  [
    "a job is cancelled although it was kept during its run",
    "keep-lifts-the-cancel",
    without("cancelAskedAt"),
    { habit: "events" },
  ],
  [
    "an event for a running job is ignored when the run fails",
    "event-cancels-a-failed-run",
    condition(true),
    { habit: "events" },
  ],
  [
    "an event between the end of a run and its record is missed",
    "run-ends-as-its-cancel-was-read",
    without("cancelAskedAt"),
    { habit: "events" },
  ],
  ["an event's job without its once item", "event-files-once", remove, { habit: "events" }],
  ["a postpone does not keep the first bound", "postponed-within-the-first-bound", withoutOperand("??", 0)],
  [
    "a late job ended although it already runs",
    "late-job-ends-only-while-it-waits",
    text(CHANGE, dropping("state", "heldUntil")),
    { habit: "late" },
  ],
  [
    "lateness counted from the due time",
    "late-since-the-last-start",
    text(/startOf\((\w+)\)/, "Date.parse($1.dueAt)"),
    { habit: "late" },
  ],
  ["a job that was asked for late is late since its filing", "requested-time-is-kept", condition(false)],
  [
    "ifLate ignores how late a job was asked for",
    "late-since-the-requested-time",
    value("0"),
    { habit: "late" },
  ],
  [
    "paused time counts as lateness",
    "late-since-the-last-start",
    text(/lateSince\(\w+, (startOf\(\w+\))\)/, "$1"),
    { habit: "late" },
  ],
  ["starts given before Lambda has followed a resume", "no-start-before-lambda-follows", without(0)],
  [
    "jobs handed over although the window is closed",
    "start-only-in-the-window",
    value("false"),
    { habit: "window" },
  ],
  [
    "a given start kept although the window is closed then",
    "given-start-keeps-the-window",
    text(/\((\w+)\) => /, "$&$1.heldUntil === undefined && "),
    { habit: "window" },
  ],
  [
    "a limit's starts booked although the window is closed",
    "limit-gives-starts-in-the-window",
    condition(true),
    { habit: "window" },
  ],
  ["a bulk cancels beyond its range", "list-ends-at-its-range", text(/(?=\))/, " + 3_600_000")],
  ["a move does not record when it was requested", "change-notes-when-it-was-asked", without("askedAt")],
  ["a change ignores what its caller saw", "change-only-as-seen", value("true")],
  ["a topic takes more jobs in a minute than it may", "topic-takes-only-its-room", value("wanted")],
  ["a move does not say who asked for it", "move-names-its-caller", text(/, by: .*(?= \})/, "")],
  ["a late redrive is late since its move", "redrive-keeps-its-time", text(/request\.delay > 0/, "false")],
  ["a repeated reschedule changes the job again", "repeated-call-changes-nothing", value("false")],
  ["a bulk does not mark the jobs that it moves", "bulk-marks-what-it-moves", remove],
];

export const MUTANTS: readonly Mutant[] = ROWS.map(([name, rule, change, more]) => {
  return { name, rule, change, ...more };
});
