/** Every number the protocol rests on. Times are milliseconds unless the name says otherwise. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** A bucket is one minute of one shard. */
export const BUCKET = MINUTE;
/** How far ahead of the clock a sweep hands jobs over. */
export const LOOKAHEAD = 180 * SECOND;
/** What a writer adds to `LOOKAHEAD`, so that a sweep running beside it cannot pass unseen. */
const GUARD = 30 * SECOND;
/** A job due within this time of its writer's clock is sent by the writer. */
export const NEAR = LOOKAHEAD + GUARD;
/** How long before it is due a schedule promotes a job: by then SQS can keep it. */
export const PROMOTE_BEFORE = 4 * MINUTE;
/** The longest delay of a message ("DelaySeconds", SQS API Reference). */
export const SQS_MAX_DELAY = 900 * SECOND;
/** How long the audit stays behind the sweep, in the sweep's own time. */
export const AUDIT_AFTER = 10 * MINUTE;
/** How long after it chose its times an operation may still issue a write. */
export const WRITER_DEADLINE = 60 * SECOND;
/**
 * How long a batch of claims or settles repeats what DynamoDB has not decided: the other jobs of the batch wait for it,
 * and their leases run on.
 */
export const BATCH_PATIENCE = 2 * SECOND;
/** How long past its end a lease counts as live, since clocks differ. */
export const CLOCK_MARGIN = 15 * SECOND;
/** AWS refuses a request whose signature is older ("Signature Version 4 signing", IAM User Guide). */
const SIGNATURE_LIFE = 5 * MINUTE;
/** How long after it chose its times, by anybody's clock, a write of an operation can still take effect. */
export const LANDS_WITHIN = WRITER_DEADLINE + SIGNATURE_LIFE + CLOCK_MARGIN;

// A write issued at its deadline can land SIGNATURE_LIFE later. Were the audit's cursor past the look by
// then, a crash right after would leave an acknowledged job that nobody ever looks at again.
if (LANDS_WITHIN >= AUDIT_AFTER - LOOKAHEAD) {
  throw new Error(
    "WRITER_DEADLINE + SIGNATURE_LIFE + CLOCK_MARGIN must be less than AUDIT_AFTER - LOOKAHEAD: " +
      "a late write would land behind the audit",
  );
}

if (PROMOTE_BEFORE <= NEAR || NEAR > SQS_MAX_DELAY) {
  throw new Error(
    "PROMOTE_BEFORE must be more than NEAR, and NEAR at most SQS_MAX_DELAY: a job is promoted before its writer would send it, " +
      "and SQS must take what a writer sends",
  );
}

/** Where a writer files a look when SQS refuses its message for now: past what any sweep has read. */
export const RETRY_LOOK_AFTER = NEAR + MINUTE;
/** A call that takes this long to fail has met no answer, and the next one would take as long. Clients try three times, 5 s each. */
export const NO_ANSWER_AFTER = 5 * SECOND;
/** How far past a sweep's limit the job of a failing queue is looked at again, at first. */
export const FAILING_TOPIC_WAIT = MINUTE;
/** A job of a topic that no policy names is given up when its queue has taken nothing for this long. */
export const UNKNOWN_TOPIC_AFTER = HOUR;
/** Looks go this long past their time: no outage may outlast it. */
// rule: looks-outlast-an-outage
export const STALE_AFTER = 90 * DAY;
/**
 * Untracked homes go this long past their time, since nobody takes them away when their jobs have been sent: a tick that has not
 * run for so long loses such jobs, as SQS loses messages that nobody receives for as long.
 */
export const UNTRACKED_AFTER = 10 * DAY;
/** The once item of an `Idempotency-Key` answers until this long after its job was due, and after its job has ended. */
export const ONCE_AFTER = 24 * HOUR;
/** How much longer a once item is stored, when it is written, than it must answer: a job that is late, or retried, seldom has it prolonged. */
export const ONCE_SLACK = 48 * HOUR;
/** How much longer it is stored at least: so long a job may be late, run, or wait for a tick that prolongs its items. */
export const LEAST_ONCE_SLACK = 24 * HOUR;
/** How many `Idempotency-Key`s a home knows of each kind: those that named the job, and those of calls that changed it. So many bulks, too. */
export const KNOWN_CALLS = 10;
/**
 * What is known of an event or an occurrence that was applied: told again from its DLQ, which keeps it 14 days, it does nothing
 * twice.
 */
export const EVENT_AFTER = 15 * DAY;
/** The least time between two entries of a cursor's trail. */
export const TRAIL_STEP = 20 * SECOND;
/** How long a sweep or audit goes on at most before it writes down how far it has come. */
export const MARK_AFTER = 10 * SECOND;

/**
 * How far ahead of the clock a topic with a limit gives starts to jobs that wait for it. What is cancelled later wastes no
 * more than this, and a limit that a deploy raises acts within it.
 */
export const STARTS_AHEAD = 75 * SECOND;
/** How late a tick may begin before seconds of a busy topic pass that nobody was given. */
const TICK_LATE = 10 * SECOND;

if (STARTS_AHEAD < BUCKET + TICK_LATE) {
  throw new Error(
    "STARTS_AHEAD must be at least BUCKET + TICK_LATE: a tick gives the starts of the time until the next one",
  );
}

/** A job gets no start that is less than this before it expires: its consumer may be that late. */
export const LAST_START_BEFORE = 2 * SECOND;
/** How long after a start that was given whoever hands a job over still counts on the job having been sent for it. */
export const BOOKED_FOR = MINUTE;
/** How long Lambda takes to poll a queue again after its event source mapping was enabled, at most. */
export const MAPPING_FOLLOWS = MINUTE;
/** How long it takes until the next tick has told Lambda what is wished of a topic's queue, when none is missing. */
export const NEXT_TICK = MINUTE + 5 * SECOND;
/** How long whoever hands jobs over or runs them may believe what it knows of a pause. */
export const PAUSE_KNOWN_FOR = 5 * SECOND;
/** How long a ready queue keeps a message. */
export const READY_RETENTION = 10 * DAY;
/**
 * How often SQS lets a message be received: then it moves the message to the DLQ. It catches only what dies before it can
 * claim; such a job is still alive in its home.
 */
export const MOST_RECEIVES = 20;
/**
 * How long at most an untracked job waits for its next run: until then it lies in its ready queue alone. It leaves three
 * days for slow consumers, and the twelve-hour steps of the visibility timeout stay below `MOST_RECEIVES`.
 */
export const LONGEST_UNTRACKED_WAIT = 7 * DAY;

/** The audit looks again at a job it found: `[late by less than, look again after]`. */
export const AUDIT_LADDER = [
  [HOUR, HOUR],
  [5 * HOUR, 4 * HOUR],
  [Number.POSITIVE_INFINITY, DAY],
] as const;
/** While its ready queue shows a backlog, a job less late than this gets a look but no message. */
export const BACKLOG_PATIENCE = HOUR;
/** One that is less late is judged again by the next audits already: consumers may be behind for a moment. */
export const BACKLOG_SOON = 15 * MINUTE;
/** So many messages may lie ready at any moment though consumers keep up. */
export const HEALTHY_READY = 10;

/** A consumer holds a message that is less early than this, and puts an earlier one back. */
export const HELD_BY_CONSUMER = 2 * SECOND;
/** How long before `dueAt` at least a `millisecond` topic's message is released. */
export const RELEASE_EARLY = 200;
/** How long before its function's deadline a consumer starts no further job. */
export const LAST_START = 5 * SECOND;
/** How long before its function's deadline a consumer aborts `job.signal`. */
export const ABORT_BEFORE = 3 * SECOND;
/** How long before its function's deadline a consumer answers Lambda, though SQS has not said that it has deleted messages. */
export const ANSWER_BEFORE = SECOND;
/** How much longer than a run a message stays invisible: a crash is noticed soon after. */
export const VISIBILITY_MARGIN = 30 * SECOND;
/** A pulled job can be extended to this long after its claim ("Visibility timeout", SQS Developer Guide). */
export const LONGEST_LEASE = 12 * HOUR;
/** SQS counts its 12 h from the receive, and refuses what would pass them. */
export const LONGEST_HIDE = LONGEST_LEASE - 5 * MINUTE;
/** How long an event whose job runs is hidden at first, then twice as long each time, and how long at most. */
export const EVENT_WAIT = { first: 5 * SECOND, longest: 15 * MINUTE } as const;
/** How often SQS brings an event before it goes to the DLQ: that outlasts a lease, and an hour of tries a minute apart. */
export const EVENT_RECEIVES = 60;
/**
 * How long a message that cannot be read is hidden after its first receive, and at most; each receive doubles it. SQS moves it
 * to the DLQ after 20 receives, so it outlives a rollback of a day.
 */
export const UNREADABLE_WAIT = { first: 30 * SECOND, longest: 3 * HOUR } as const;
/** `setTimeout` fires at once when given more. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** Limits of AWS, by the documentation's name. */
export const SQS_BATCH_ENTRIES = 10;
export const SQS_BATCH_BYTES = 256 * 1024;
export const STATEMENT_BATCH = 25;
/** "Target", EventBridge Scheduler API Reference, says 256 KB of `Input`. */
export const SCHEDULE_INPUT_BYTES = 256 * 1000;
/** SQS bills a request by 64 KB; the envelope's own words take the rest. */
export const PACK_BYTES = 60 * 1000;

/** Limits of the API; each is refused with rule and value. */
export const BODY_BYTES = 200 * 1024;
export const HEADERS_BYTES = 4 * 1024;
export const BATCH_JOBS = 500;
export const BATCH_BYTES = 3 * 1024 * 1024;
export const BODY_DEPTH = 100;
export const ERROR_BYTES = 256;
/** What a job's log keeps, each error cut shorter than `lastError`. */
export const LOG_ENTRIES = 10;
export const LOG_ERROR_BYTES = 80;
export const TAG_BYTES = 256;
export const KEY_CHARS = 256;
export const GROUP_CHARS = 128;
export const IDEMPOTENCY_KEY_CHARS = 256;
export const MOST_ATTEMPTS = 100;
export const LIST_JOBS = 1000;
export const PAGE_JOBS = 100;
/** What one page of a list reads at most, about, and then it is short: buckets, their entries, bytes of bodies. */
export const BUCKETS_A_PAGE = 1000;
export const ENTRIES_A_PAGE = 2000;
/** Of a page's answer, too. */
export const PAGE_BYTES = 4 * 1024 * 1024;
/** What one call of a bulk changes, and how long it goes on with it. */
export const BULK_JOBS = 500;
export const BULK_PART = 5 * SECOND;
export const LONGEST_BULK = 366 * DAY;
export const RECEIVE_WAIT_SECONDS = 20;
/** Jobs a second of a redrive or a resume. Slower than the lowest, 500 jobs would be spread over more than a week. */
export const RATES = { lowest: 0.001, highest: 1000 } as const;
export const CALLBACK_URL_CHARS = 2048;
export const LONGEST_DELAY = 10 * 366 * DAY;
export const LONGEST_WINDOW_MINUTES = 1440;
export const LONGEST_SPREAD = 24 * HOUR;
export const EXPRESSION_CHARS = 256;
export const MAX_SHARDS = 1024;
