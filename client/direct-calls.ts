import type * as z from "zod/mini";
import { parseJson } from "../core/json.ts";
import { logFailure } from "../http/log-failure.ts";
import type { Sent } from "../http/new-job.ts";
import { idempotent } from "../http/parameters.ts";
import { problemOf } from "../http/problem.ts";
import { checkBytes, trimmed, validate } from "../http/read-call.ts";
import type { Service } from "../http/route.ts";
import { errorOf, jsonOf } from "./call.ts";
import { refusalOf } from "./refusal.ts";

/** Does the work of one call in this process. If it fails, logs the error as the API does, and throws the error of the API's answer. */
export type Run = <T>(signal: AbortSignal | undefined, work: () => Promise<T>) => Promise<T>;

/** `done` is called after each call. */
export function runDirectly(log: Service["log"], done: () => void = () => {}): Run {
  const finish = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (thrown) {
      logFailure(log, thrown);
      throw errorOf(refusalOf(thrown) ?? problemOf(thrown));
    } finally {
      done();
    }
  };
  return async (signal, work) => {
    signal?.throwIfAborted();
    return signal ? unlessAborted(finish(work), signal) : finish(work);
  };
}

/** Rejects as soon as a call is aborted. The call goes on in the background, and a `receive` gives the jobs back that still come. */
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

/** A call whose repeats have no further effect. `path`: the path that the call has over HTTP. A repeat may come over HTTP. */
type Repeatable = {
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | undefined;
};

/** As `readFields`, for a call that may have an `Idempotency-Key`. `sent`: what tells the call from others with the same key. */
export function readRepeatable<T>(
  schema: z.ZodMiniType<T>,
  given: object,
  { method, path, idempotencyKey }: Repeatable,
): { fields: T; sent: Sent } {
  const text = boundedJson(given);
  const header = idempotencyKey === undefined ? {} : { "idempotency-key": trimmed(String(idempotencyKey)) };
  const headers = validate(idempotent, header, "the headers");
  return { fields: readText(schema, text), sent: { method, path, text, headers } };
}

/** The JSON of a call's fields, within the API's bound. So the call has the same fields as over HTTP: times are text, and `undefined` is absent. */
function boundedJson(fields: object): string {
  const text = jsonOf(fields);
  checkBytes(Buffer.byteLength(text));
  return text;
}

/** Reads the parameters of a call that stand in a path over HTTP. Throws `bad-request`. */
export function readPath<T>(schema: z.ZodMiniType<T>, parameters: object): T {
  return validate(schema, parameters, "the path");
}
