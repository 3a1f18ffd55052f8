import type * as z from "zod/mini";
import { actorOf } from "../core/actor.ts";
import { parseJson } from "../core/json.ts";
import { logFailure } from "../http/log-failure.ts";
import type { Sent } from "../http/new-job.ts";
import { idempotent, reasoned } from "../http/parameters.ts";
import { problemOf } from "../http/problem.ts";
import { checkBytes, trimmed, validate } from "../http/read-call.ts";
import type { Service } from "../http/route.ts";
import { actingFor } from "../protocol/policy.ts";
import type { Context } from "../protocol/ports.ts";
import { errorOf, jsonOf } from "./call.ts";
import { refusalOf } from "./refusal.ts";
import { originHere } from "./with-origin.ts";

/** A failure is logged as the API does, and thrown as the error of the API's answer. */
export type Run = <T>(signal: AbortSignal | undefined, work: () => Promise<T>) => Promise<T>;

export function runDirectly(log: Service["log"], done: () => unknown = () => {}): Run {
  const finish = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (thrown) {
      logFailure(log, thrown);
      throw errorOf(refusalOf(thrown) ?? problemOf(thrown));
    } finally {
      await done();
    }
  };
  return async (signal, work) => {
    signal?.throwIfAborted();
    return signal ? unlessAborted(finish(work), signal) : finish(work);
  };
}

/** The call goes on in the background, and a `receive` gives the jobs back that still come. */
export function unlessAborted<T>(answered: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  return Promise.race([answered, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}

/** Reads the fields of a call as the API reads its body. Throws `bad-request` or `too-large`. */
export function readFields<T>(schema: z.ZodMiniType<T>, fields: object): T {
  return readText(schema, boundedJson(fields));
}

function readText<T>(schema: z.ZodMiniType<T>, text: string): T {
  return validate(schema, parseJson(text), "the request");
}

/** `path`: as over HTTP, because a repeat may come over HTTP. */
type Repeatable = {
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | undefined;
};

/** `sent`: what tells the call from others with the same key. */
export function readRepeatable<T>(
  schema: z.ZodMiniType<T>,
  fields: object,
  { method, path, idempotencyKey }: Repeatable,
): { fields: T; sent: Sent } {
  const text = boundedJson(fields);
  const header = idempotencyKey === undefined ? {} : { "idempotency-key": trimmed(String(idempotencyKey)) };
  const given = validate(idempotent, header, "the headers");
  const headers = { ...given, ...originHere() };
  return { fields: readText(schema, text), sent: { method, path, text, headers } };
}

/** JSON has the same fields as over HTTP: times are text, and `undefined` is absent. */
function boundedJson(fields: object): string {
  const text = jsonOf(fields);
  checkBytes(Buffer.byteLength(text));
  return text;
}

/** Reads the parameters that stand in the path over HTTP. Throws `bad-request`. */
export function readPath<T>(schema: z.ZodMiniType<T>, parameters: object): T {
  return validate(schema, parameters, "the path");
}

/** The context of a call that changes something. Nobody signs a direct call, so its caller has no name. Throws `bad-request`. */
export function directlyFor(ctx: Context, given: { readonly reason?: string | undefined }): Context {
  const { reason } =
    given.reason === undefined ? {} : validate(reasoned, { reason: given.reason }, "the options");
  return actingFor(ctx, () => actorOf("caller", { reason }));
}
