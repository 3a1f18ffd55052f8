import { describe, expect, test } from "vitest";
import { type Deployment, functionIn } from "./deployment.ts";
import { ENTRIES, type FunctionName } from "./entries.ts";
import { portCallsIn } from "./port-calls.ts";
import { type Right, rightsFor, rightsOf } from "./rights.ts";

/** The rights of a role that its function's code never uses: Lambda itself uses them. */
const BY_LAMBDA: Readonly<Record<string, readonly RegExp[]>> = {
  // "Sending Lambda function logs to CloudWatch Logs".
  JobsApiHandler: [/^logs:(CreateLogStream|PutLogEvents) JobsApiHandlerLog/],
  JobsApiReceive: [/^logs:(CreateLogStream|PutLogEvents) JobsApiReceiveLog/],
  JobsTickSweeper: [/^logs:(CreateLogStream|PutLogEvents) JobsTickSweeperLog/],
  JobsPromotionsPromote: [/^logs:(CreateLogStream|PutLogEvents) JobsPromotionsPromoteLog/],
  JobsRecurringOccurrence: [
    /^logs:(CreateLogStream|PutLogEvents) JobsRecurringOccurrenceLog/,
    // "Adding a dead-letter queue": Lambda sends the event of an asynchronous invocation there after three failures.
    /^sqs:SendMessage minutehand_schedules_dlq$/,
  ],
  // "Creating and configuring an Amazon SQS event source mapping": the rights that Lambda's poller uses.
  JobsWebhookhooksCaller: [
    /^logs:(CreateLogStream|PutLogEvents) JobsWebhookhooksCallerLog/,
    /^sqs:(ReceiveMessage|DeleteMessage|GetQueueAttributes) minutehand-hooks$/,
  ],
  CopyTargetcopiesCaller: [
    /^logs:(CreateLogStream|PutLogEvents) CopyTargetcopiesCallerLog/,
    /^sqs:(ReceiveMessage|DeleteMessage|GetQueueAttributes) minutehand-copies$/,
  ],
  JobsEventsApplier: [
    /^logs:(CreateLogStream|PutLogEvents) JobsEventsApplierLog/,
    /^sqs:(ReceiveMessage|DeleteMessage|GetQueueAttributes) minutehand_events$/,
  ],
  Orders: [/^sqs:(ReceiveMessage|DeleteMessage|GetQueueAttributes) minutehand-orders$/],
  Precise: [/^sqs:(ReceiveMessage|DeleteMessage|GetQueueAttributes) minutehand-precise$/],
  Notes: [/^sqs:(ReceiveMessage|DeleteMessage|GetQueueAttributes) minutehand-notes$/],
};

/** The rights that a function tries to use although its role must not have them. */
const REFUSED: Readonly<Record<string, readonly RegExp[]>> = {
  // A topic that the policy lacks may be another deployment's. The tick tries to send its job, which is dead at once if the queue does not
  // exist, and after an hour if SQS only refuses the call.
  JobsTickSweeper: [/^sqs:SendMessage minutehand-ghost$/],
};

const STORED =
  /^src\/protocol\/[\w-]+\/(book-starts|claim|dead-entry|die|if-late|keys|known-pauses|limited-topics|listed-topics|looks|move|once-items|park|pause|read-job|redrive|redrive-envelope|send|settle|write-apart)\.ts /;
/** Where nothing fails, no note is removed by itself. */
const RARELY = /^src\/protocol\/hand-over\/release-jobs\.ts removeByPartition remove$/;
/** A look is filed a minute later if DynamoDB does not store it within two seconds, which only a slow machine makes happen here. */
const IF_SLOW = /^src\/protocol\/store\/looks\.ts fileLooks insert$/;
/** In these scenes the producer repeats no batch with further jobs. */
const SHARED_ANEW = /^src\/protocol\/file\/enqueue-batch\.ts writeShared change$/;
/** Events and occurrences file no batches. */
const SHARED = /^src\/protocol\/file\/enqueue-batch\.ts /;
/** Only the jobs of events have an order by which a later event decides. */
const EARLIER = /^src\/protocol\/file\/enqueue-keyed\.ts leaveAsIs transact$/;
/** It sends no job with `Home.spare`, which says that the job may have been sent before. */
const SPARE = /^src\/protocol\/[\w-]+\/start-gate\.ts parkedAmong read$/;
/** Once items of events and occurrences are written in transactions, and no others. */
const TOGETHER = /^src\/protocol\/file\/enqueue-once\.ts fileOnce transact$/;
/** A change of a schedule files an occurrence of the last minutes: whether there is one depends on the second in which this test runs. */
const IF_DUE = new RegExp(TOGETHER);
/** No topic has a window here, and no run fails. */
const HELD = /^src\/protocol\/store\/write-apart\.ts insertApart insert$/;
/** The calls in a bundle that its function does not make in these scenes. */
const UNREACHABLE: Readonly<Record<string, readonly RegExp[]>> = {
  // API Gateway sends `POST /topics/{topic}/receive` to the other function.
  JobsApiHandler: [
    /^src\/protocol\/[\w-]+\/(claim|if-late|pull|redrive-envelope)\.ts (writeClaims|endTooLate|handOut|receiveMessages|putBack) /,
    /^src\/protocol\/[\w-]+\/(park\.ts parkReceived remove|resend\.ts resend send)$/,
    RARELY,
    IF_DUE,
    EARLIER,
  ],
  JobsTickSweeper: [
    // It sends no dead letter for a job that it gives up (the change `giveUp`): SQS did not take the job's message either.
    /^src\/protocol\/[\w-]+\/die\.ts sendLetter send$/,
    // It stores schedules of earlier versions, and changes none.
    /^src\/protocol\/file\/schedule-items\.ts write change$/,
    IF_SLOW,
    RARELY,
    SPARE,
  ],
  JobsPromotionsPromote: [HELD, SPARE],
  // A schedule's job has no key, so that nothing is kept or replaced, and none is due long after it is filed.
  JobsRecurringOccurrence: [
    HELD,
    SHARED,
    /^src\/protocol\/[\w-]+\/(enqueue-keyed|key-holder|move|once-items)\.ts /,
    /^src\/protocol\/[\w-]+\/(far-ahead|book-schedules)\.ts /,
    /^src\/protocol\/[\w-]+\/(enqueue-plain\.ts storeOnce insert|read-apart\.ts readApart read)$/,
  ],
  // Jobs of events are tracked, have keys and come one by one; it records no deaths.
  JobsEventsApplier: [
    HELD,
    SHARED,
    TOGETHER,
    /^src\/protocol\/[\w-]+\/enqueue-plain\.ts storeOnce insert$/,
    /^src\/protocol\/[\w-]+\/move\.ts move change$/,
    /^src\/protocol\/[\w-]+\/keys\.ts freeKey transact$/,
  ],
  // Its topic is tracked.
  JobsWebhookhooksCaller: [/^src\/protocol\/run\/settle-untracked\.ts settleUntracked /],
  CopyTargetcopiesCaller: [/^src\/protocol\/run\/settle-untracked\.ts settleUntracked /],
  Orders: [/^src\/protocol\/run\/settle-untracked\.ts settleUntracked /],
  Precise: [/^src\/protocol\/run\/settle-untracked\.ts settleUntracked /],
  // Its topic is untracked. Only some jobs in its queue were filed while the topic was tracked, so not every path of tracked jobs
  // is met.
  Notes: [STORED, SPARE],
  // It records no deaths.
  Shop: [HELD, SHARED_ANEW, TOGETHER, EARLIER, /^src\/protocol\/[\w-]+\/keys\.ts freeKey transact$/],
};

const among =
  (patterns: readonly RegExp[] = []) =>
  (text: string) =>
    patterns.some((one) => one.test(text));
const unused = (patterns: readonly RegExp[] = [], texts: readonly string[]) =>
  patterns.filter((pattern) => !texts.some((text) => pattern.test(text)));

export function testRoles(deployed: () => Deployment): void {
  describe.each(Object.keys(ENTRIES) as FunctionName[])("the role of %s", (name) => {
    function compared(): { missing: Right[]; extra: Right[] } {
      const { template, scope, recorder } = deployed();
      const made = recorder.requests.filter(({ by }) => by === name);
      const needed = new Set(made.flatMap((request) => rightsFor(request)));
      const allowed = rightsOf(template, functionIn(template, name), scope);
      return {
        missing: [...needed].filter((right) => !allowed.has(right)).sort(),
        extra: [...allowed].filter((right) => !needed.has(right)).sort(),
      };
    }

    test("allows every call that its function made", () => {
      const { missing } = compared();
      expect(missing.filter((right) => !among(REFUSED[name])(right))).toEqual([]);
      expect(unused(REFUSED[name], missing)).toEqual([]);
    });

    test("allows only what its function or Lambda uses", () => {
      const { extra } = compared();
      expect(extra.filter((right) => !among(BY_LAMBDA[name])(right))).toEqual([]);
      expect(unused(BY_LAMBDA[name], extra)).toEqual([]);
    });

    test("was judged by a run that met every place where its function's code can call AWS", () => {
      const reached = deployed().recorder.reached.get(name) ?? new Set();
      const places = portCallsIn(ENTRIES[name]);
      expect(places.filter((place) => reached.has(place)).length).toBeGreaterThan(0);
      const unmet = places.filter((place) => !reached.has(place)).map((place) => place.replace(/:\d+/, ""));
      expect(unmet.filter((place) => !among(UNREACHABLE[name])(place))).toEqual([]);
      const never = UNREACHABLE[name]?.filter((pattern) => pattern !== IF_SLOW && pattern !== IF_DUE);
      expect(unused(never, unmet)).toEqual([]);
      expect([...reached].filter((place) => !places.includes(place))).toEqual([]);
    });
  });
}
