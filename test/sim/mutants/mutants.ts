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

/** A small deliberate defect: a change of the code below a marker. */
export type Mutant = {
  name: string;
  /** The rule that a marker in the source names: `// rule: look-before-home` stands above the code that keeps the rule. */
  rule: string;
  change: Change;
  /** A second place in the same file. */
  and?: { rule: string; change: Change };
  /** The additional setting that a history must have, because the damaged code has no effect without it. Others are not played. */
  habit?: Habit["kind"];
};

/** Advances the cursor before the page's work is done. No page has so many entries, so the cursor is written at once. */
const ADVANCE = "progress.reach(page, 1_000_000)";
const CLAIM_AGAIN = `{
  const mine = { token: tokens.get(job.id) ?? "", leaseEnd: now + 30_000, claimedAt: now };
  const expect = { revision: job.revision, state: "running", leaseEnd: home.leaseEnd };
  const over = await ctx.pool.change({ key: { pk: home.pk, sk: home.sk }, expect, set: mine }, now + 60_000);
  if (over.changed) take(job);
}`;
const STILL_WAITS = '(await readHomes(ctx, [before.item.id]))[0]?.state === "scheduled"';
/** Five more reads for each run. The budget leaves room for only four. */
const READ_OFTEN =
  "for (const { id } of held) for (let i = 0; i < 5; i++) await readReadableHomes(ctx, [id], 'settling jobs');";
const STOPPED = '[...outcomes.values()].some(({ outcome }) => outcome === "held") ? entries[0] : $&';
const NO_WAIT = "{ holds: $1.map((home) => ({ home, from: home.dueAt, until: home.dueAt })), left: [] }";
const REMOVE_NOTES =
  "await ctx.pool.remove(given.flatMap(({ notes }) => notes), ctx.clock() + WRITER_DEADLINE);";
/** Matches the list in the first call of a list's method. */
const LIST = /[\w.]+(?=\.\w+\(\()/;

/** The mutants: each removes or changes a rule of the protocol. The first ones are mistakes that a naive version would make. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: "put without its condition",
    rule: "insert-only-if-absent",
    change: remove,
  },
  {
    name: "a refused statement of a batch counts as applied",
    rule: "refused-statement-not-applied",
    change: value('"applied"'),
  },
  {
    name: "look filed after the home",
    rule: "look-before-home",
    change: moveBefore("near-job-sent-after-move"),
  },
  {
    name: "a move to a past time files its look in the past",
    rule: "no-move-into-the-past",
    change: value("request.dueAt"),
  },
  {
    name: "move without the revision",
    rule: "move-only-what-was-read",
    change: without("revision"),
  },
  {
    name: "a move does not notice a call that has kept the job",
    rule: "move-only-what-was-read",
    change: without("once"),
  },
  {
    name: "move leaves expiresAt",
    rule: "move-clears-the-last-run",
    change: without("expiresAt"),
  },
  {
    name: "move leaves the claim",
    rule: "move-clears-the-last-run",
    change: without("token", "leaseEnd"),
  },
  {
    name: "clock not checked after a move",
    rule: "near-job-sent-after-move",
    change: remove,
  },
  {
    name: "clock not checked after filing",
    rule: "near-job-sent-after-filing",
    change: remove,
  },
  {
    name: "no deadline for writers",
    rule: "writes-have-a-deadline",
    change: condition(true),
  },
  {
    name: "claim without the revision",
    rule: "claim-by-revision",
    change: without("revision"),
  },
  {
    name: "a claim replaces a claim whose lease has ended",
    rule: "claim-settles-a-crashed-run",
    change: consequence(CLAIM_AGAIN),
  },
  {
    name: "lease compared without a margin",
    rule: "lease-outlasts-the-clocks",
    change: withoutOperand("+", 1),
  },
  {
    name: "lease recorded shorter than the run",
    rule: "lease-covers-the-run",
    change: value("$& - 45_000"),
  },
  {
    name: "a claim's token computed from its message",
    rule: "claim-token-is-drawn",
    change: text(/(\w+)\.id, .*?\)/, "$1.id, $1.id + $1.revision"),
  },
  {
    name: "a repeated claim does not recognise its own token",
    rule: "claim-knows-its-own-token",
    change: condition(false),
  },
  {
    name: "a batch of claims waits for a throttled claim",
    rule: "batch-waits-for-no-throttled-claim",
    change: operand("+", 1, "30 * $&"),
  },
  {
    name: "crashed run never settled by a claim",
    rule: "claim-settles-a-crashed-run",
    change: consequence('drop(job, "crashed");'),
  },
  {
    name: "settle without the token",
    rule: "settle-by-token",
    change: without("token"),
  },
  {
    name: "dead marked before the envelope",
    rule: "envelope-before-dead-home",
    change: moveAfter("dead-home-comes-last"),
  },
  {
    name: "a dead letter deleted before its job is dead",
    rule: "letter-stays-until-its-job-is-dead",
    change: withoutOperand("&&", 0),
  },
  {
    name: "an envelope from SQS's own redrive counts as void",
    rule: "envelope-redrives-its-job",
    change: remove,
  },
  {
    name: "key taken without checking its holder",
    rule: "key-taken-from-its-holder-as-read",
    change: without(-1),
  },
  {
    name: "a keyed job is filed although another job has its key",
    rule: "key-before-its-home",
    change: condition(false),
  },
  {
    name: "the key of an unstored job is taken without a placeholder",
    rule: "unstored-job-is-never-stored",
    change: value('["inserted"]'),
  },
  {
    name: "a job counts as filed although a placeholder has its place",
    rule: "replaced-by-a-placeholder-is-not-filed",
    change: value("true"),
  },
  {
    name: "a redrive takes the key of a job that is being filed",
    rule: "redrive-waits-for-the-filing",
    change: withoutOperand("&&", 1),
  },
  {
    name: "one refused job makes its whole pack dead",
    rule: "refused-pack-sent-one-by-one",
    change: operand(">", 1, "10"),
  },
  {
    name: "the envelope of a job that cannot be redriven is dropped",
    rule: "envelope-is-never-lost",
    change: remove,
  },
  {
    name: "a redriven job does not take its key",
    rule: "redriven-job-takes-its-key",
    change: remove,
  },
  {
    name: "keys that crashed processes left are not freed",
    rule: "audit-frees-keys-of-finished-jobs",
    change: remove,
  },
  {
    name: "no once item",
    rule: "once-item-before-its-home",
    change: remove,
  },
  {
    name: "no once item of a keyed job",
    rule: "once-item-before-its-key",
    change: remove,
  },
  {
    name: "no once item of an event's job",
    rule: "once-item-with-its-home",
    change: text(/, \w+(?=\])/, ""),
  },
  {
    name: "no shared once item of a batch",
    rule: "shared-once-item-before-its-homes",
    change: condition(true),
  },
  {
    name: "a batch takes the once item of another call for its own",
    rule: "first-call-names-the-batch",
    change: value("true"),
  },
  {
    name: "once item ignored when its job is done",
    rule: "once-item-outlives-its-job",
    change: operand("&&", 1, STILL_WAITS),
  },
  {
    name: "cursor advanced before the send",
    rule: "send-before-cursor",
    change: before(`if (!(await ${ADVANCE})) return "stopped";`),
  },
  {
    name: "cursor advanced to the clock, not to the limit",
    rule: "cursor-stops-at-the-limit",
    change: text(/page\.to/, "beforeTime(ctx.clock() + LOOKAHEAD)"),
  },
  {
    name: "gaps between ranges that are done not swept",
    rule: "gaps-are-swept",
    change: text(/\[swept, \.\.\.ahead\.map\(.*?\)\]/, "[ahead.at(-1)?.to ?? swept]"),
  },
  {
    name: "the last entry of a page not audited",
    rule: "each-entry-audited",
    change: text(LIST, "$&.slice(0, -1)"),
  },
  {
    name: "the end of a slice taken for the end of its page",
    rule: "slice-ends-behind-its-last-entry",
    change: condition(false),
  },
  {
    name: "the end of a page taken for the end of its bucket",
    rule: "page-ends-where-the-next-begins",
    change: withoutOperand("??", 0),
  },
  {
    name: "the last entry of a page not looked at",
    rule: "each-entry-swept",
    change: text(LIST, "$&.slice(0, -1)"),
  },
  {
    name: "looks that TTL removes half an hour past their time",
    rule: "looks-outlast-an-outage",
    change: value("1_800_000"),
  },
  {
    name: "TTL in ms",
    rule: "ttl-in-seconds",
    change: withoutOperand("/", 1),
  },
  {
    name: "due at half the delay",
    rule: "due-after-the-whole-delay",
    change: operand("+", 1, "$& / 2"),
  },
  {
    name: "the stored body differs from the request",
    rule: "body-stored-as-given",
    change: value('"1"'),
  },
  {
    name: "every message sent twice",
    rule: "each-message-sent-once",
    change: text(/^.*? = (.*)$/s, "$1\n$&"),
  },
  {
    name: "homes read five times at each settle",
    rule: "settle-reads-only-what-was-refused",
    change: before(READ_OFTEN),
  },
  {
    name: "no audit",
    rule: "audit-repairs-before-its-cursor",
    change: remove,
  },
  {
    name: "audit's new look omitted",
    rule: "audit-files-the-next-looks",
    change: remove,
  },
  {
    name: "audit's cursor before its looks",
    rule: "audit-repairs-before-its-cursor",
    change: before(`isOurs = await ${ADVANCE};\nif (!isOurs) break;`),
  },
  {
    name: "audit does not stay behind the sweep",
    rule: "audit-trails-the-sweep",
    change: withoutOperand("-", 1),
  },
  {
    name: "audit stays only one minute behind the sweep",
    rule: "audit-trails-the-sweep",
    change: operand("-", 1, "$& / 10"),
  },
  {
    name: "an entry that cannot be read stops its shard",
    rule: "unreadable-entry-stops-no-shard",
    change: consequence('throw new Error("unreadable");'),
  },
  {
    name: "audit passes a running job without a look",
    rule: "running-job-has-a-look",
    change: remove,
  },
  {
    name: "new shard's cursors start at the sweep's limit",
    rule: "new-cursor-starts-before-all-jobs",
    change: operand("-", 1, "-180_000"),
  },
  {
    name: "meta raised before the new cursors",
    rule: "cursors-before-more-shards",
    change: before("if (!meta)"),
  },
  {
    name: "a message's jobs not held until they are due",
    rule: "message-held-until-its-job-is-due",
    change: value("0"),
    and: { rule: "only-due-jobs-start", change: withoutOperand("||", 1) },
  },
  {
    name: "three seconds of delay too many",
    rule: "no-delay-past-the-start",
    change: value("$& + 3"),
  },
  {
    name: "a cancel changes a running job",
    rule: "cancel-only-as-filed",
    change: without("state"),
  },
  {
    name: "a late cancel cancels a job that was moved since",
    rule: "cancel-only-as-filed",
    change: without("revision"),
  },
  {
    name: "messages of the queue carry Lineage",
    rule: "lineage-not-passed-on",
    change: text(/!(\w+)\.\w+\(.*?\)/, "$1.length > 0"),
  },
  {
    name: "a pulled job handed out past its lease",
    rule: "no-start-past-the-lease",
    change: value("false"),
  },
  {
    name: "unprocessed keys taken as absent",
    rule: "unprocessed-keys-read-again",
    change: withoutOperand("??", 0),
  },
  {
    name: "an undecided statement taken as applied",
    rule: "undecided-statement-asked-again",
    change: consequence('results[index] = "applied";'),
  },
  {
    name: "a message that SQS did not accept counts as sent",
    rule: "failed-message-not-sent",
    change: condition(true),
  },
  {
    name: "a near untracked job acknowledged before SQS has it",
    rule: "untracked-acknowledged-once-sent",
    change: condition(false),
  },
  {
    name: "audit passes a held job without a look",
    rule: "held-job-has-a-look",
    change: before("if (!isHeld)"),
  },
  {
    name: "a parked job gets no note",
    rule: "parked-job-has-a-note",
    change: text(/await .*?\((\w+), .*?\)/, '$1.map(() => "inserted")'),
  },
  {
    name: "a claim ignores a pause",
    rule: "claim-asks-for-a-pause",
    change: value("Number.NEGATIVE_INFINITY"),
  },
  {
    name: "a paused topic holds its shard's cursor",
    rule: "held-jobs-stop-no-cursor",
    change: value(STOPPED),
  },
  {
    name: "Lambda never polls the queue of a resumed topic again",
    rule: "lambda-follows-a-resume",
    change: text(/^.*, (\w+)\);$/, "if (!$1) $&"),
  },
  {
    name: "a resume ended before Lambda polls",
    rule: "resume-ends-once-lambda-polls",
    change: remove,
  },
  {
    name: "a hold without its look",
    rule: "look-before-hold",
    change: value('looks.map(() => "exists" as const)'),
  },
  {
    name: "the start of a held job is ignored",
    rule: "no-start-before-the-hold-ends",
    change: without(-1),
  },
  {
    name: "jobs handed over beyond their topic's limit",
    rule: "handed-over-jobs-keep-the-limit",
    change: text(/await \w+\(.*?(\w+)\)/, NO_WAIT),
  },
  {
    name: "starts given an hour ahead, to jobs that may be cancelled",
    rule: "starts-given-shortly-ahead",
    change: operand("+", 1, "48 * $&"),
  },
  {
    name: "a job that gets no start of its limit not parked",
    rule: "job-without-a-start-is-parked",
    change: remove,
  },
  {
    name: "jobs that are parked for a limit are never released",
    rule: "limited-topics-are-released",
    change: text(/(?<= : )[^:]*(?=;)/, "false"),
  },
  {
    name: "a note deleted before its job is sent",
    rule: "note-outlives-the-send",
    change: before(REMOVE_NOTES),
  },
  {
    name: "starts that others booked not counted",
    rule: "starts-of-others-count",
    change: value("jobs.length"),
  },
  {
    name: "a second start for a job that has a start",
    rule: "one-start-for-each-job",
    change: value("false"),
  },
  {
    name: "webhook-id different for each attempt",
    rule: "one-webhook-id-until-a-redrive",
    change: text(/\w+\((\w+)\)/, '[$1.id, $1.attempt].join("-")'),
  },
  {
    name: "webhook-id the same after a redrive",
    rule: "one-webhook-id-until-a-redrive",
    change: text(/\w+\((\w+)\)/, "$1.id"),
  },
  {
    name: "a redirect taken as done",
    rule: "redirect-is-not-done",
    change: operand("<", 1, "400"),
  },
  {
    name: "a job's own callbackUrl is ignored",
    rule: "callback-url-of-the-job-first",
    change: withoutOperand("??", 0),
  },
  {
    name: "an occurrence without its once item",
    rule: "occurrence-filed-once",
    change: without("once"),
  },
  {
    name: "all occurrences of a year have the same name",
    rule: "occurrence-named-by-its-time",
    change: text(/toISOString\(\)/, "$&.slice(0, 4)"),
  },
  {
    name: "schedules of jobs stay when they have fired",
    rule: "fired-schedule-is-deleted",
    change: remove,
  },
  {
    name: "an event leaves no tombstone",
    habit: "events",
    rule: "event-leaves-a-tombstone",
    change: text(/\w+\) : .*(?=;)/, "[]) : true"),
  },
  {
    name: "the tombstone is not checked when a job is filed",
    habit: "events",
    rule: "filed-with-the-tombstone-as-read",
    change: remove,
  },
  {
    name: "the key is not checked when an event leaves its tombstone",
    habit: "events",
    rule: "tombstone-with-the-key-as-read",
    change: without(-1),
  },
  {
    name: "an event that was applied before counts as new",
    habit: "events",
    rule: "event-applied-once",
    change: withoutOperand("||", 0),
  },
  {
    name: "an event earlier than the last one counts as new",
    habit: "events",
    rule: "event-applied-once",
    change: withoutOperand("||", 1),
  },
  {
    name: "a tombstone made shorter by a later one",
    habit: "events",
    rule: "tombstone-only-grows",
    change: without(-1),
  },
  {
    name: "an event that has found its job also cancels in advance",
    habit: "events",
    rule: "only-an-unmet-job-is-cancelled-ahead",
    change: condition(false),
  },
  {
    name: "an event cancels a job that a later event has asked for",
    habit: "events",
    rule: "job-a-later-event-wants-stays",
    change: condition(true),
  },
  {
    name: "an event files or replaces a job that a later event has cancelled",
    habit: "events",
    rule: "later-cancel-stands",
    change: withoutOperand("||", 1),
  },
  {
    name: "an event earlier than a tombstone files a live job",
    habit: "events",
    rule: "earlier-event-files-nothing-alive",
    change: remove,
  },
  {
    name: "an event that keeps a job does not record its time",
    habit: "events",
    rule: "kept-job-notes-the-event",
    change: value("false"),
  },
  {
    name: "a replace does not notice that an event has kept the job",
    habit: "events",
    rule: "replace-only-what-was-read",
    change: without("keptAt"),
  },
  {
    name: "an event that was overtaken keeps a running job",
    habit: "events",
    rule: "overtaken-event-keeps-nothing",
    change: condition(false),
  },
  {
    name: "a job is cancelled although it was kept during its run",
    habit: "events",
    rule: "keep-lifts-the-cancel",
    change: without("cancelAskedAt"),
  },
  {
    name: "an event for a running job is ignored when the run fails",
    habit: "events",
    rule: "event-cancels-a-failed-run",
    change: condition(true),
    and: { rule: "run-ends-as-its-cancel-was-read", change: without("cancelAskedAt") },
  },
  {
    name: "an event between the end of a run and its record is missed",
    habit: "events",
    rule: "run-ends-as-its-cancel-was-read",
    change: without("cancelAskedAt"),
  },
  {
    name: "an event's job without its once item",
    habit: "events",
    rule: "event-files-once",
    change: remove,
  },
  {
    name: "a postpone does not keep the first bound",
    rule: "postponed-within-the-first-bound",
    change: withoutOperand("??", 0),
  },
  {
    name: "a late job ended although it already runs",
    habit: "late",
    rule: "late-job-ends-only-while-it-waits",
    change: without("state", "heldUntil"),
  },
  {
    name: "lateness counted from the due time",
    habit: "late",
    rule: "lateness-from-the-start",
    change: text(/\w+\((\w+)\) \+ \w+\(\1\)/, "Date.parse($1.dueAt)"),
    and: {
      rule: "paused-time-is-no-lateness",
      change: text(/(?<= - )\w+ .*\((\w+)\)/, "Date.parse($1.dueAt)"),
    },
  },
  {
    name: "paused time counts as lateness",
    habit: "late",
    rule: "paused-time-is-no-lateness",
    change: withoutOperand("-", 2),
  },
  {
    name: "the wait of a parked job counts as lateness",
    rule: "parked-wait-is-no-lateness",
    change: value("heldFromNow(ctx, home, ctx.clock())"),
  },
  {
    name: "starts given before Lambda has followed a resume",
    rule: "no-start-before-lambda-follows",
    change: without(0),
  },
  {
    name: "jobs handed over although the window is closed",
    habit: "window",
    rule: "start-only-in-the-window",
    change: value("false"),
  },
  {
    name: "a given start kept although the window is closed then",
    habit: "window",
    rule: "given-start-keeps-the-window",
    change: text(/\((\w+)\) => /, "$&$1.heldUntil === undefined && "),
  },
  {
    name: "a limit's starts booked although the window is closed",
    habit: "window",
    rule: "limit-gives-starts-in-the-window",
    change: condition(true),
  },
  {
    name: "a bulk cancels beyond its range",
    rule: "list-ends-at-its-range",
    change: text(/(?=\))/, " + 3_600_000"),
  },
  {
    name: "a move does not record when it was requested",
    rule: "change-notes-when-it-was-asked",
    change: without("askedAt"),
  },
  {
    name: "a repeated reschedule changes the job again",
    rule: "repeated-call-changes-nothing",
    change: value("false"),
  },
  {
    name: "a bulk does not mark the jobs that it moves",
    rule: "bulk-marks-what-it-moves",
    change: remove,
  },
];
