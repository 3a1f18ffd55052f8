/**
 * The numbers on which the protocol's promises and the limits of the API depend. Times are ms unless the name says otherwise.
 * Assertions below the numbers check the rules between them when this file is loaded.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

// The tests load this module, and so run the checks. The mark lets bundles leave the checks out.
// @__NO_SIDE_EFFECTS__
function mustHold(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`the constants of the protocol contradict each other: ${rule}`);
}

// Limits of AWS, each with its name in AWS's documentation, and one limit of Node.

/** The longest delay of a message ("DelaySeconds", SQS API Reference). */
export const SQS_MAX_DELAY = 900 * SECOND;
/** How long a receive can hide a message at most ("Visibility timeout", SQS Developer Guide). */
const SQS_MAX_VISIBILITY = 12 * HOUR;
/** How long a queue can keep a message at most ("MessageRetentionPeriod", SQS API Reference). DLQs keep messages that long. */
const SQS_MAX_RETENTION = 14 * DAY;
export const SQS_BATCH_ENTRIES = 10;
export const SQS_BATCH_BYTES = 256 * 1024;
/** How many statements one `BatchExecuteStatement` takes ("BatchExecuteStatement", DynamoDB API Reference). */
export const STATEMENT_BATCH = 25;
/** How many bytes the `Input` of a schedule may have: 256 KB ("Target", EventBridge Scheduler API Reference). */
export const SCHEDULE_INPUT_BYTES = 256 * 1000;
/** `setTimeout` fires at once when its delay is longer. */
export const LONGEST_TIMER = 2 ** 31 - 1;

// How a job is handed over.

export const BUCKET = MINUTE;
/** How far ahead of the clock a sweep hands jobs over. */
export const LOOKAHEAD = 180 * SECOND;
/** A sweep that finds nothing leaves the cursor if it is less than this behind: a write costs as much as five reads of an empty minute. */
export const CURSOR_RESTS = 90 * SECOND;
/** An audit that finds nothing leaves its place if it is less than this behind: it writes every fourth minute. */
export const AUDIT_RESTS = 210 * SECOND;
/** How far a cursor is behind at most while all is well. A tick runs each minute, and takes some time. */
export const USUAL_LAG = CURSOR_RESTS + BUCKET;
/** How much a writer adds to `LOOKAHEAD`: a sweep, whose clock may be ahead, may have read the job's minute before the put. */
const GUARD = 30 * SECOND;
/** A writer itself sends a job that is due within this time of the writer's clock. */
export const NEAR = LOOKAHEAD + GUARD;
/** A job's own schedule promotes the job this long before it is due. SQS can delay a message for that long. */
export const PROMOTE_BEFORE = 4 * MINUTE;
/**
 * How many schedules of far jobs a queue writes in a day. An account has room for 10 million ("Quotas for Amazon EventBridge Scheduler"), so
 * a producer that files far jobs without end takes 100 days to fill it.
 */
export const SCHEDULES_A_DAY = 100_000;
/** How many jobs the handlers of one chain may file on a day (UTC), and how many runs of one job its handler may ask for, unless the queue says otherwise. */
export const CHAIN_JOBS_A_DAY = 100_000;
/** The first generation of a chain whose jobs are counted. A fan-out in two steps, of any width, costs no count. */
export const COUNTED_GENERATION = 3;
/** The audit may reach a position at the earliest this long after the sweep has reached it. */
export const AUDIT_AFTER = 10 * MINUTE;
/** How long an operation may issue writes, counted from the moment at which it chose the times that it writes. */
export const WRITER_DEADLINE = 60 * SECOND;
/** How long a batch repeats writes that DynamoDB leaves undecided: other jobs wait meanwhile, and leases run. */
export const BATCH_PATIENCE = 2 * SECOND;
/** EventBridge gives the time of an event in whole seconds. */
export const EVENT_PRECISION = SECOND;
/** The clocks of two machines may differ by this much. Each bound that follows from it has a name of its own below. */
const SKEW = 15 * SECOND;
/** `SKEW`, for code that shows it to people and for tests. */
export const CLOCK_MARGIN = SKEW;
/** How much longer than its `leaseEnd` a lease counts as live: then it is over by the clock of the process that runs the job. */
export const LEASE_GRACE = SKEW;
/** How much later than by its `expiresAfter` a job has expired for those who end it: then no consumer's clock lets it run. */
export const EXPIRY_GRACE = SKEW;
/** An event that is further ahead of the clock counts as one of now. A smaller lead may be this clock's lag. */
export const EVENT_AHEAD = SKEW;
/** An event counts as later than a job's filing if it is at most this much earlier: the caller's clock may have been ahead. */
export const CALLER_AHEAD = SKEW;
/** A bulk takes in jobs that were filed or changed up to this long after it began: a clock that is ahead may have done so before. */
export const BULK_GRACE = SKEW;
/** A sweep by any clock has read at most this far ahead of a writer's clock. */
export const SWEPT_AHEAD = LOOKAHEAD + SKEW;
/** A start further ahead than this is near by no clock, so no writer has sent its job without a look. */
export const NEAR_BY_ANY_CLOCK = NEAR + SKEW;
/** How long an entry of a cursor's trail is kept: an audit by any clock needs none that is older. */
export const TRAIL_KEPT_FOR = AUDIT_AFTER + SKEW;
/** A clock that differs by more from a service's clock is reported as wrong. Less may be an error of measurement. */
export const CLOCK_SKEW_SEEN = 5 * SECOND;
/** AWS refuses a request whose signature is older than this ("Signature Version 4 signing", IAM User Guide). */
const SIGNATURE_LIFE = 5 * MINUTE;
/** A write can take effect at the latest this long after its operation chose its times, by any machine's clock. */
export const LANDS_WITHIN = WRITER_DEADLINE + SIGNATURE_LIFE + SKEW;

mustHold(
  LANDS_WITHIN < AUDIT_AFTER - LOOKAHEAD,
  "LANDS_WITHIN must be less than AUDIT_AFTER - LOOKAHEAD. A write that is issued at its deadline can land SIGNATURE_LIFE later. " +
    "If the audit's cursor were past the job's look by then, a crash would leave an acknowledged job that nobody looks at again",
);
mustHold(
  SWEPT_AHEAD <= NEAR,
  "SWEPT_AHEAD must be at most NEAR: a writer sends each job that a sweep, whose clock may be ahead, may have passed",
);
mustHold(
  PROMOTE_BEFORE > NEAR,
  "PROMOTE_BEFORE must be more than NEAR: a job is promoted before a writer or a sweep would send it",
);
mustHold(
  PROMOTE_BEFORE <= SQS_MAX_DELAY,
  "PROMOTE_BEFORE must be at most SQS_MAX_DELAY: SQS delays the message",
);

/** If SQS does not take a job's message, the writer files a look this long after now. No sweep has read that far yet. */
export const RETRY_LOOK_AFTER = NEAR + MINUTE;
/** The timeout of one try of the AWS clients. A call that fails after this time or later has had no answer, as the next one would. */
export const NO_ANSWER_AFTER = 5 * SECOND;
/** How often the AWS clients try a call. (The client for promotions tries once, for 2 s.) */
export const CALL_TRIES = 3;
/** How long a call that hangs takes. */
export const HANGS_FOR = CALL_TRIES * NO_ANSWER_AFTER;
/** If a queue fails, the first new look at its job lies this far past the limit of the sweep. */
export const FAILING_TOPIC_WAIT = MINUTE;
/** Within this time after its choice such a look is stored: then the next sweep, whose clock may be ahead, has not passed it. */
export const LOOKS_FILED_WITHIN = FAILING_TOPIC_WAIT - SKEW;
mustHold(LOOKS_FILED_WITHIN > 0, "FAILING_TOPIC_WAIT must be more than SKEW");
/** A job of a topic that no policy names is given up when its queue has taken no message for this long. */
export const UNKNOWN_TOPIC_AFTER = HOUR;
/** How long a ready queue keeps a message. */
export const READY_RETENTION = 10 * DAY;
mustHold(READY_RETENTION <= SQS_MAX_RETENTION, "READY_RETENTION must be at most SQS_MAX_RETENTION");
/** DynamoDB's TTL deletes a look this long after the look's time. No outage may last longer. */
// rule: looks-outlast-an-outage
export const STALE_AFTER = 90 * DAY;
/** TTL deletes the note of a late job or of a retry this long after the note's time. Audits have passed it long before. */
export const TROUBLED_AFTER = 10 * DAY;
/** DynamoDB's TTL deletes the item of a deleted schedule this long after the deletion. No outage may last longer. */
export const REMOVED_AFTER = 90 * DAY;
/** TTL deletes an untracked job's home this long after its due time. If no tick runs for so long, the job is lost. */
export const UNTRACKED_AFTER = 10 * DAY;
/** The once item of an `Idempotency-Key` answers repeats for at least this long after its job was due and after its job has ended. */
export const ONCE_AFTER = 24 * HOUR;
/** For how long the home of a finished job is stored at least. The construct refuses a shorter `retention`. */
export const LEAST_RETENTION = 24 * HOUR;
mustHold(
  LEAST_RETENTION >= ONCE_AFTER,
  "LEAST_RETENTION must be at least ONCE_AFTER: if a once item was written less than ONCE_AFTER ago and its job has no home, the home was never stored",
);
/** If an item that names a job is younger than this by any clock and the job has no home, the home was never stored, or was erased. */
export const HOME_SURELY_KEPT = ONCE_AFTER - SKEW;
/** A new once item is stored for this much longer than it must answer. So the item of a late or retried job seldom has to be prolonged. */
export const ONCE_SLACK = 48 * HOUR;
/** A once item with less slack is prolonged: a job may be late, run, or wait for the tick that prolongs the item. */
export const LEAST_ONCE_SLACK = 24 * HOUR;
mustHold(
  LEAST_ONCE_SLACK < ONCE_SLACK,
  "LEAST_ONCE_SLACK must be less than ONCE_SLACK: a new item needs no write",
);
/** How many calls with an `Idempotency-Key` a home knows: that named its job, that changed it, and of bulks that changed it. */
export const KNOWN_CALLS = 10;
/** How long an applied event or occurrence is known, so that it has no second effect when its DLQ is redriven. */
export const EVENT_AFTER = SQS_MAX_RETENTION + DAY;
/** The least time between two entries of a cursor's trail. */
export const TRAIL_STEP = 20 * SECOND;
/** How long a sweep or an audit goes on at most before it writes its cursor. */
export const MARK_AFTER = 10 * SECOND;

/** How far ahead a limit gives starts to waiting jobs. The start of a job that is cancelled then is wasted, and a raised limit waits. */
export const STARTS_AHEAD = 75 * SECOND;
/** How late a tick may begin before a busy topic loses starts, because nobody gave those seconds to a job. */
const TICK_LATE = 10 * SECOND;
mustHold(
  STARTS_AHEAD >= BUCKET + TICK_LATE,
  "STARTS_AHEAD must be at least BUCKET + TICK_LATE: a tick gives the starts of the time until the next tick",
);

/** A job gets no start in the last moments before it expires: its consumer may be this late. */
export const LAST_START_BEFORE_EXPIRY = 2 * SECOND;
/** A job that has got a start may still use that start if it runs at most this long after it. */
export const BOOKED_FOR = MINUTE;
/** How long Lambda takes at most to poll a queue again after its event source mapping was enabled. */
export const MAPPING_FOLLOWS = MINUTE;
/** How long it takes until the next tick has enabled or disabled a topic's event source mapping, if no tick is missed. */
export const NEXT_TICK = MINUTE + 5 * SECOND;
/** How long the hand-over and consumers use a topic's pause before they read it again. */
export const PAUSE_KNOWN_FOR = 5 * SECOND;
/** After so many receives SQS moves a message to the DLQ. Consumers send a tracked job in a new message before, unless they die before they claim. */
export const MOST_RECEIVES = 20;
/** How long an untracked job's message stays in the queue for slow consumers after the longest wait of its job. */
const FOR_SLOW_CONSUMERS = 3 * DAY;
/** How long an untracked job waits for its next run at most. Until then the job exists only as its message in the ready queue. */
export const LONGEST_UNTRACKED_WAIT = READY_RETENTION - FOR_SLOW_CONSUMERS;

/** When the audit looks again at a job that it has found late: `[late by less than, look again after]`. */
export const AUDIT_LADDER = [
  [DAY, HOUR],
  [7 * DAY, 6 * HOUR],
  [Number.POSITIVE_INFINITY, DAY],
] as const;
/** While its ready queue has a backlog, a job that is less late than this gets a look, but no second message. */
export const BACKLOG_PATIENCE = HOUR;
/** A job that is less late than this gets its look without a wait: consumers may be behind for a moment only. */
export const BACKLOG_SOON = 15 * MINUTE;
mustHold(
  AUDIT_AFTER < BACKLOG_SOON && BACKLOG_SOON < BACKLOG_PATIENCE,
  "BACKLOG_SOON must lie between AUDIT_AFTER and BACKLOG_PATIENCE: an audited job is already late by AUDIT_AFTER - LOOKAHEAD",
);
/** How many messages may be ready in a queue at any moment although its consumers keep up. */
export const HEALTHY_READY = 10;

// How a consumer runs a job.

/** If a message comes too early by less than this, its consumer holds it. If it comes earlier, its consumer hides it again. */
export const HELD_BY_CONSUMER = 2 * SECOND;
/** SQS releases a `millisecond` topic's message this long before its job's start, or up to a second earlier. */
export const RELEASE_EARLY = 200;
mustHold(
  RELEASE_EARLY + SECOND < HELD_BY_CONSUMER,
  "HELD_BY_CONSUMER must be more than RELEASE_EARLY and a second: a consumer holds messages that are released early",
);
/** Time left before the deadline, beside the longest run so far, to start a job: this, or a quarter of the function's time if less. */
export const LAST_START_BEFORE_DEADLINE = 5 * SECOND;
/** How long before its function's deadline a consumer aborts `job.signal`: this, or an eighth of the function's time if that is less. */
export const ABORT_BEFORE = 3 * SECOND;
/** How long before the deadline a consumer answers Lambda in any case: this, or a sixteenth of the function's time if less. */
export const ANSWER_BEFORE = SECOND;
mustHold(
  LAST_START_BEFORE_DEADLINE > ABORT_BEFORE && ABORT_BEFORE > ANSWER_BEFORE,
  "a consumer must start its last job before it aborts running jobs, and abort them before it answers",
);
/** How much longer than a run a message stays invisible. If the run crashed, the message comes again soon after. */
export const VISIBILITY_MARGIN = 30 * SECOND;
mustHold(
  VISIBILITY_MARGIN > LEASE_GRACE,
  "VISIBILITY_MARGIN must be more than LEASE_GRACE: a lease is over by any clock when the message comes again",
);
/** The lease of a pulled job ends at most this long after the claim, because SQS cannot hide the job's message for longer. */
export const LONGEST_LEASE = SQS_MAX_VISIBILITY;
/** How long a message is hidden at most. SQS counts its 12 h from the receive, and some of that time has passed by then. */
export const LONGEST_HIDE = SQS_MAX_VISIBILITY - 5 * MINUTE;
mustHold(
  LONGEST_UNTRACKED_WAIT / LONGEST_HIDE < MOST_RECEIVES - 1,
  "LONGEST_UNTRACKED_WAIT must take fewer than MOST_RECEIVES receives: each hides the message for LONGEST_HIDE at most",
);

/** A wait that doubles with each receive. */
type Doubling = { readonly first: number; readonly longest: number };

/** Answers how long receives hide a message in all, from its first receive to its last, before SQS moves it to the DLQ. */
function hiddenFor({ first, longest }: Doubling, receives: number): number {
  const waits = Array.from({ length: receives - 1 }, (_, i) => Math.min(first * 2 ** i, longest));
  return waits.reduce((sum, wait) => sum + wait, 0);
}

/** How long the message of an event is hidden while the event's job runs: `first`, then twice as long each time. */
export const EVENT_WAIT: Doubling = { first: 5 * SECOND, longest: 15 * MINUTE };
/** After how many receives SQS moves an event to the DLQ. An event that fails comes again after a minute, so it is tried for an hour. */
export const EVENT_RECEIVES = 60;
mustHold(
  hiddenFor(EVENT_WAIT, EVENT_RECEIVES) > LONGEST_LEASE + LEASE_GRACE,
  "EVENT_RECEIVES must be so many that an event outlasts the longest lease",
);
/** How long a message that this code cannot read is hidden: `first`, then twice as long with each receive. */
export const UNREADABLE_WAIT: Doubling = { first: 30 * SECOND, longest: 3 * HOUR };
mustHold(
  hiddenFor(UNREADABLE_WAIT, MOST_RECEIVES) > DAY,
  "UNREADABLE_WAIT must be so long that a message of a newer version outlasts a rollback of a day",
);

/** SQS bills a request for each 64 KB. The rest is for the other fields of the message. */
export const PACK_BYTES = 60 * 1000;

// Limits of the API. A refusal names the limit and the value.

export const BODY_BYTES = 200 * 1024;
export const HEADERS_BYTES = 4 * 1024;
export const BATCH_JOBS = 500;
/** An event of Lambda has a request's body as a JSON string, where each quote takes two bytes, and at most 6 MB ("Lambda quotas"). */
export const BATCH_BYTES = 3_000_000;
/** The most bytes of JSON that a Lambda function gets or answers ("Lambda quotas"). */
export const LAMBDA_PAYLOAD_BYTES = 6 * 1024 * 1024;
mustHold(
  2 * BATCH_BYTES + 256 * 1024 < LAMBDA_PAYLOAD_BYTES,
  "BATCH_BYTES must be so few that the longest request and its headers fit into an event of Lambda",
);
export const BODY_DEPTH = 100;
mustHold(
  BODY_BYTES + HEADERS_BYTES < Math.min(SQS_BATCH_BYTES, SCHEDULE_INPUT_BYTES),
  "a job with the largest body and headers must fit into one message, and into one schedule",
);
export const ERROR_BYTES = 256;
/** How many broken rules an answer lists, and how long its `detail` may be. A request can break hundreds of thousands of rules. */
export const ERRORS_TOLD = 10;
export const DETAIL_BYTES = 1024;
/** How many entries a job's log keeps. An error in it is shorter than `lastError`, as each move writes the whole log. */
export const LOG_ENTRIES = 10;
export const LOG_ERROR_BYTES = 80;
/** In a log of more bytes of JSON, moves lose their reasons and names, the oldest first. The newest one keeps them. */
export const LOG_BYTES = 1024;
/** How many characters the reason of a call may have, and how many bytes of it, and of a caller's name, are stored. */
export const REASON_CHARS = 100;
export const REASON_BYTES = 100;
export const ACTOR_NAME_BYTES = 64;
export const TAG_BYTES = 256;
export const KEY_CHARS = 256;
export const GROUP_CHARS = 128;
export const IDEMPOTENCY_KEY_CHARS = 256;
export const MOST_ATTEMPTS = 100;
export const MOST_WAITS = 100;
export const MOST_IN_PACK = 10;
export const LIST_JOBS = 1000;
/** The longest range of a list or a forecast. */
export const LONGEST_LIST = 31 * DAY;
export const PAGE_JOBS = 100;
/** About how many buckets, entries and bytes of bodies a page of a list reads at most. */
export const BUCKETS_A_PAGE = 1000;
export const ENTRIES_A_PAGE = 2000;
/** Also the bound of a page's answer. */
export const PAGE_BYTES = 4 * 1024 * 1024;
/** About how many entries and bytes of bodies one call that counts jobs reads at most, and for how long. Then it answers with a cursor. */
export const ENTRIES_A_COUNT = 20_000;
export const COUNT_BYTES = 64 * 1024 * 1024;
export const COUNT_PART = SECOND;
/** A job is late if nothing has held it for this long and it has not started: a consumer must first receive its message. */
export const LATE_AFTER = 5 * SECOND;
/** How many jobs of a topic are counted as late or as waiting for a retry at most. */
export const TROUBLED_COUNTED = 1000;
/** How many jobs one call of a bulk changes at most, and for how long. Then it answers with a cursor. */
export const BULK_JOBS = 500;
export const BULK_PART = 5 * SECOND;
export const LONGEST_BULK = 366 * DAY;
/** How many jobs one `receive` answers at most: as many as one `ReceiveMessage` of SQS. */
export const RECEIVE_JOBS = 10;
mustHold(RECEIVE_JOBS <= SQS_BATCH_ENTRIES, "RECEIVE_JOBS ≤ SQS_BATCH_ENTRIES");
/** "ReceiveMessage", SQS API Reference: its longest long poll. */
export const RECEIVE_WAIT_SECONDS = 20;
/** The range of `ratePerSecond`. At the lowest rate, 500 jobs take almost six days. */
export const RATES = { lowest: 0.001, highest: 1000 } as const;
export const CALLBACK_URL_CHARS = 2048;
export const LONGEST_DELAY = 10 * 366 * DAY;
export const LONGEST_WINDOW_MINUTES = DAY / MINUTE;
export const LONGEST_SPREAD = 24 * HOUR;
export const EXPRESSION_CHARS = 256;
/** A job id has two characters for its shard, of 32 values each. */
export const MAX_SHARDS = 1024;
/** How many further invocations a tick starts at most, if no concurrency is reserved for the tick. */
export const MOST_SWEEPERS = 63;
