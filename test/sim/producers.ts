import type { TopicBodies } from "../../src/client/check-bodies.ts";
import { directOn } from "../../src/client/direct-client.ts";
import type { EnqueueOptions, NewJobRequest } from "../../src/client/options.ts";
import { MinutehandError } from "../../src/core/errors.ts";
import type { Context } from "../../src/protocol/ports.ts";
import type { Machine } from "./machine.ts";
import type { Answer, Api } from "./platform.ts";
import type { Headers } from "./requests.ts";
import type { World } from "./world.ts";

type Process = { machine: Machine; ctx: Context };

/** A user's own process with the TypeScript client. It has no timeout, so it may freeze for any time. */
export function producersOf(world: World): Api {
  let started = 0;
  let current: Process | undefined;
  return async (method, path, body = {}, headers: Headers = {}) => {
    if (!current?.machine.alive()) current = world.start(`producer-${++started}`);
    const { machine } = current;
    const client = clientIn(world, current);
    const tell = world.called(method, path, body, headers);
    world.trace(() => `${machine.name}: ${method} ${path} ${JSON.stringify(body)}`);
    const died = new Promise<undefined>((resolve) => machine.onDeath(() => resolve(undefined)));
    const call = async (): Promise<Answer> => {
      try {
        const isFiling = method === "POST" && path === "/jobs";
        return {
          status: isFiling ? 201 : 200,
          body: { ...(await run(client, method, path, body, headers)) },
        };
      } catch (error) {
        if (error instanceof MinutehandError) return refusalOf(error);
        if (machine.alive()) world.witness.defect(`the client threw ${(error as Error).stack}`);
        return { status: 500, body: {} };
      }
    };
    const answer = await Promise.race([call(), died]);
    world.trace(() => `${machine.name}: ${JSON.stringify(answer)}`);
    tell(answer);
    return answer;
  };
}

function clientIn(world: World, { machine, ctx }: Process) {
  return directOn(ctx, {
    info: () => {},
    warn: () => {},
    // An error that the client would answer with status 500 is a defect even while faults happen.
    error(message: string, error: Error) {
      if (machine.alive()) world.witness.defect(`${message}: ${error.stack}`);
    },
  });
}

async function run(
  client: ReturnType<typeof clientIn>,
  ...[method, path, body, headers]: [method: string, path: string, body: object, headers: Headers]
) {
  const [plain = "", query] = path.split("?");
  const [, , id = ""] = plain.split("/");
  const token = headers["idempotency-key"];
  const once = token === undefined ? {} : { idempotencyKey: token };
  const reason = new URLSearchParams(query).get("reason") ?? undefined;
  const [, revision] = headers["if-match"]?.replaceAll('"', "").split(".") ?? [];
  const seen = revision === undefined ? {} : { ifMatch: { id, revision: Number(revision) } };
  if (method === "DELETE") return client.cancel(id, { ...seen, reason });
  if (method === "PATCH") return client.reschedule(id, { ...body, ...once, ...seen, reason });
  if (path === "/jobs/batch") {
    const results = await client.enqueueMany((body as { jobs: NewJobRequest<TopicBodies>[] }).jobs, once);
    return {
      results: results.map((job) => (job instanceof MinutehandError ? refusalOf(job) : { status: 201, job })),
    };
  }
  const { topic, body: text, ...options } = body as EnqueueOptions & { topic: string; body: unknown };
  return client.enqueue(topic, text, { ...options, ...once });
}

const STATUS: Partial<Record<MinutehandError["code"], number>> = { unavailable: 503, "too-many-filed": 429 };

function refusalOf({ code, data }: MinutehandError): Answer & { error: Answer["body"] } {
  const body = { ...data, code };
  return { status: STATUS[code] ?? 409, body, error: body };
}
