import { MinutehandError } from "../core/errors.ts";
import { createContext } from "../environment/context.ts";
import { createScheduler } from "../environment/scheduler.ts";
import {
  cancelJob,
  cancelJobByKey,
  enqueueJob,
  getJob,
  getJobByKey,
  idByKey,
  type Keyed,
  putJob,
  rescheduleJob,
} from "../http/calls/jobs.ts";
import { cancelJobs, enqueueJobs } from "../http/calls/many-jobs.ts";
import { jobJson, summaryOf } from "../http/job-json.ts";
import { jobPath, keyPath } from "../http/parameters.ts";
import { problemOf } from "../http/problem.ts";
import { changes, jobIds, keyedJob, newJob, newJobs } from "../http/requests.ts";
import type { Service } from "../http/route.ts";
import type { Enqueued } from "../protocol/new-job.ts";
import type { Context } from "../protocol/ports.ts";
import { errorOf, tagOf } from "./call.ts";
import { outcomeOf } from "./cancel-if-waiting.ts";
import {
  type SchemaOptions,
  type TopicBodies,
  type TopicSchemas,
  type TopicsOf,
  withSchemas,
} from "./check-bodies.ts";
import { withCheckedOptions } from "./check-options.ts";
import type { Client } from "./client.ts";
import { directlyFor, type Run, readFields, readPath, readRepeatable, runDirectly } from "./direct-calls.ts";
import { inParts } from "./in-parts.ts";
import { type JobRef, requireRef } from "./job-ref.ts";
import type {
  CallOptions,
  ChangeOptions,
  Changes,
  EnqueueOptions,
  PutOptions,
  RepeatableOptions,
  SeenOptions,
} from "./options.ts";
import { pathOf } from "./path-of.ts";
import { withShift } from "./with-shift.ts";

/** The calls that `queue.grantEnqueue(producer)` allows to code inside AWS. */
export type DirectClient<Topics = TopicBodies> = Pick<
  Client<Topics>,
  "enqueue" | "enqueueMany" | "put" | "get" | "reschedule" | "cancel" | "cancelIfWaiting" | "cancelMany"
>;

/**
 * Creates a client for code inside AWS, with the rules and answers of the API. It calls DynamoDB and SQS with the role of the code, which needs
 * the environment variables and permissions of `queue.grantEnqueue(fn)`. Throws if a variable is missing. Logs to the log of the code.
 *
 * @example
 * const queue = directClient();
 * await queue.enqueue("order-timeout", { orderId: "17" }, { delay: "30m" });
 */
export function directClient<const Schemas extends TopicSchemas>(options: {
  schemas: Schemas;
}): DirectClient<TopicsOf<Schemas>>;
export function directClient<Topics = TopicBodies>(options?: SchemaOptions): DirectClient<Topics>;
export function directClient<Topics = TopicBodies>({ schemas }: SchemaOptions = {}): DirectClient<Topics> {
  const ctx = { ...createContext(), ...createScheduler() };
  return withSchemas(directOn<Topics>(ctx, ctx.telemetry.logger, ctx.telemetry.flush), schemas);
}

/** `done` is awaited after each call. */
export function directOn<Topics = TopicBodies>(
  ctx: Context,
  log: Service["log"],
  done?: () => unknown,
): DirectClient<Topics> {
  const run = runDirectly(log, done);
  const calls = {
    ...filingCalls(ctx, run),
    ...withShift(jobCalls(ctx, run)),
    ...manyJobCalls(ctx, log, run),
  };
  return withCheckedOptions(calls as unknown as DirectClient<Topics>);
}

function filingCalls(ctx: Context, run: Run) {
  const filed = ({ outcome, home }: Enqueued) => ({ ...jobJson(ctx, home), outcome });
  return {
    enqueue(topic: string, body: unknown, given: Partial<EnqueueOptions> = {}) {
      const { idempotencyKey, signal, reason, ...options } = given;
      return run(signal, async () => {
        const call = { method: "POST", path: "/jobs", idempotencyKey };
        const { fields, sent } = readRepeatable(newJob, { topic, body, ...options }, call);
        return filed(await enqueueJob(directlyFor(ctx, { reason }), fields, sent));
      });
    },
    put(topic: string, key: string, given: Partial<PutOptions & SeenOptions> = {}) {
      const { idempotencyKey, ifMatch, signal, reason, ...job } = given;
      return run(signal, async () => {
        const keyed = readPath(keyPath, { topic, key });
        const path = pathOf("/topics/{topic}/jobs/{key}", keyed);
        const { fields, sent } = readRepeatable(keyedJob, job, { method: "PUT", path, idempotencyKey });
        return filed(await putJob(directlyFor(ctx, { reason }), keyed, fields, sent, seenTags(ifMatch)));
      });
    },
  };
}

function jobCalls(ctx: Context, run: Run) {
  const cancel = (job: JobRef, { ifMatch, signal, reason }: ChangeOptions & SeenOptions = {}) =>
    run(signal, async () => {
      const named = namedBy(job);
      const acting = directlyFor(ctx, { reason });
      return typeof named === "string"
        ? cancelJob(acting, named, seenTags(ifMatch))
        : cancelJobByKey(acting, named, seenTags(ifMatch));
    });
  return {
    get: (job: JobRef, { signal }: CallOptions = {}) =>
      run(signal, async () => {
        const named = namedBy(job);
        return typeof named === "string" ? getJob(ctx, named) : getJobByKey(ctx, named);
      }),
    reschedule: (job: JobRef, { idempotencyKey, ifMatch, signal, reason, ...change }: Changes) =>
      run(signal, async () => {
        const named = namedBy(job);
        const id = typeof named === "string" ? named : await idByKey(ctx, named);
        const call = { method: "PATCH", path: `/jobs/${id}`, idempotencyKey };
        const { fields, sent } = readRepeatable(changes, change, call);
        return rescheduleJob(directlyFor(ctx, { reason }), id, fields, sent, seenTags(ifMatch));
      }),
    cancel,
    cancelIfWaiting: (job: JobRef, options?: ChangeOptions) => outcomeOf(() => cancel(job, options)),
  };
}

function manyJobCalls(ctx: Context, log: Service["log"], run: Run) {
  const orError = <R extends object>(result: R | MinutehandError, toJson: (value: R) => object) =>
    result instanceof MinutehandError ? errorOf(problemOf(result)) : toJson(result);
  return {
    enqueueMany: (
      jobs: readonly object[],
      { idempotencyKey, signal, reason }: RepeatableOptions & ChangeOptions = {},
    ) =>
      inParts(jobs, idempotencyKey, (part, key) =>
        run(signal, async () => {
          const call = { method: "POST", path: "/jobs/batch", idempotencyKey: key };
          const { fields, sent } = readRepeatable(newJobs, { jobs: part }, call);
          const results = await enqueueJobs({ ctx: directlyFor(ctx, { reason }), log }, fields.jobs, sent);
          return results.map((result) =>
            orError(result, ({ home, outcome }) => ({ ...summaryOf(ctx, home), outcome })),
          );
        }),
      ),
    cancelMany: (ids: readonly string[], { signal, reason }: ChangeOptions = {}) =>
      inParts(ids, undefined, (part) =>
        run(signal, async () => {
          const results = await cancelJobs(
            { ctx: directlyFor(ctx, { reason }), log },
            readFields(jobIds, { ids: part }).ids,
          );
          log.info("a call changed a topic, a schedule or many jobs", { call: "cancelMany" });
          return results.map((result) => orError(result, (home) => summaryOf(ctx, home)));
        }),
      ),
  };
}

function seenTags(ifMatch: SeenOptions["ifMatch"]): string[] | undefined {
  return ifMatch === undefined ? undefined : [tagOf(ifMatch)];
}

/** Checks how a call names its job as the API checks its path. Throws `bad-request`. */
function namedBy(given: JobRef): string | Keyed {
  const job = requireRef(given);
  return typeof job === "string" ? readPath(jobPath, { id: job }).id : readPath(keyPath, job);
}
