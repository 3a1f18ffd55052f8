import type { StandardSchemaV1 } from "@standard-schema/spec";
import { MinutehandError } from "../core/errors.ts";
import { faultsText, readBySchema, type Schema } from "../general/read-by-schema.ts";
import { jsonOf } from "./call.ts";

/**
 * The type of the body of each topic's jobs, by topic. A body of another type does not compile. A job is read as what JSON makes of its
 * body: a `Date` as a string.
 */
export type TopicBodies = Record<string, unknown>;

/** The schemas of bodies, by topic. Any library of Standard Schema will do, such as zod, valibot or arktype. */
export type TopicSchemas = Readonly<Record<string, StandardSchemaV1>>;

/**
 * The types of bodies by topic, from their schemas: what each schema takes.
 * @example type Topics = TopicsOf<typeof schemas>;
 */
export type TopicsOf<Schemas extends TopicSchemas> = {
  [T in keyof Schemas & string]: StandardSchemaV1.InferInput<Schemas[T]>;
};

/** Options of a client over HTTP, and of a direct client. */
export type SchemaOptions<Schemas = TopicSchemas> = {
  /**
   * The schemas of bodies by topic, of any library of Standard Schema. Before a call files a job or a schedule, the client checks what JSON makes
   * of the body, and throws `bad-request` if it does not fit. Then nothing of the call is filed. A body of `reschedule` is checked only if the call
   * names its job by topic and key: an id does not say the topic.
   */
  schemas?: Schemas;
};

type Call = (...given: never[]) => Promise<unknown>;
/** What plain JavaScript may have left out is refused by the call itself. */
type Filed = { readonly topic?: unknown; readonly body?: unknown } | undefined;

/** Checks each body that a call files or changes before the call sends anything. A topic without schema takes any body. */
export function withSchemas<Calls extends object>(client: Calls, schemas: TopicSchemas | undefined): Calls {
  if (schemas === undefined) return client;
  assertSchemas(schemas);
  const check = async (topic: unknown, body: unknown, at = "body"): Promise<void> => {
    const schema = Object.hasOwn(schemas, String(topic)) ? schemas[String(topic)] : undefined;
    if (schema !== undefined && body !== undefined) await assertFits(schema, body, `topic ${topic}`, at);
  };
  const checks: Readonly<Record<string, Call>> = {
    enqueue: (topic: unknown, body: unknown) => check(topic, body),
    put: (topic: unknown, _key: unknown, job: Filed) => check(topic, job?.body),
    reschedule: (job: Filed, change: Filed) => check(job?.topic, change?.body),
    putSchedule: (_name: unknown, schedule: Filed) => check(schedule?.topic, schedule?.body),
    enqueueMany: (jobs: readonly Filed[]) =>
      Promise.all(Array.from(jobs ?? [], (job, i) => check(job?.topic, job?.body, `jobs.${i}.body`))),
  };
  const checked = Object.entries(client as Readonly<Record<string, Call>>).map(([name, call]) => {
    const before = checks[name];
    if (before === undefined) return [name, call];
    const checkedCall: Call = async (...given) => {
      await before(...given);
      return call(...given);
    };
    return [name, checkedCall];
  });
  return Object.fromEntries(checked) as Calls;
}

/** The schema gets what the handler will get: what JSON makes of the body. */
async function assertFits(schema: Schema, body: unknown, whose: string, at: string): Promise<void> {
  const read = await readBySchema(schema, JSON.parse(jsonOf({ [at]: body }))[at]);
  if ("value" in read) return;
  const errors = read.faults.map(({ path, message }) => ({
    path: path === "" ? at : `${at}.${path}`,
    message,
  }));
  const text = `the body does not fit the schema of ${whose}: ${faultsText(read.faults, at)}`;
  throw new MinutehandError("bad-request", text, { errors });
}

/** Only plain JavaScript can pass something else. Throws a `RangeError`. */
function assertSchemas(schemas: TopicSchemas): void {
  for (const [topic, schema] of Object.entries(schemas)) {
    if (typeof schema?.["~standard"]?.validate === "function") continue;
    throw new RangeError(`schemas.${topic} must be a schema of a library of Standard Schema, such as zod`);
  }
}
