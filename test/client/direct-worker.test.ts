import { describe, expect, onTestFinished, test, vi } from "vitest";
import { unavailable } from "../../src/aws/unknown.ts";
import { directOn } from "../../src/client/direct-client.ts";
import { directWorker, directWorkerOn } from "../../src/client/direct-worker.ts";
import { createTelemetry } from "../../src/environment/telemetry.ts";
import { pauseTopic, resumeTopic } from "../../src/protocol/change/pause.ts";
import type { Received } from "../../src/protocol/ports.ts";
import { receive } from "../../src/protocol/run/pull.ts";
import { createWorld, SECOND, type World } from "../support/world.ts";

const log = { info: () => {}, warn: vi.fn(), error: vi.fn() };
const workerOf = ({ ctx }: World) => directWorkerOn(ctx, log);

/** An error as the SDK throws it. */
const sdkError = (name: string, message: string) => Object.assign(new Error(message), { name });

describe("the direct worker", () => {
  test("pulls jobs and settles them", async () => {
    const world = createWorld();
    const worker = workerOf(world);
    const client = directOn(world.ctx, log);
    for (const body of ["done", "again", "dead"]) await client.enqueue("work", body, { delay: 0 });
    const jobs = await worker.receive("work", { max: 10 });
    expect(jobs.map(({ body }) => body)).toEqual(["done", "again", "dead"]);
    const [done = "", again = "", dead = ""] = jobs.map(({ receipt }) => receipt);
    const leaseUntil = new Date(world.now() + 60 * SECOND).toISOString();
    expect(await worker.extend("work", done, 60)).toMatchObject({ leaseUntil, state: "running" });
    expect(await worker.finish("work", done)).toMatchObject({ state: "done" });
    expect(await worker.finish("work", done)).toMatchObject({ state: "done" });
    const retried = await worker.retry("work", again, { delay: "1m", error: "busy" });
    expect(retried).toMatchObject({ state: "scheduled", revision: 1, lastError: "busy" });
    const buried = await worker.bury("work", dead, { error: "gone" });
    expect(buried).toMatchObject({ state: "dead", lastError: "gone" });
    await expect(worker.finish("work", dead)).rejects.toMatchObject({ code: "claim-lost", status: 409 });
  });

  test("has the rules and codes of the API", async () => {
    const worker = workerOf(createWorld());
    const refusals = [
      [worker.receive("orders"), "not-a-pull-topic"],
      [worker.receive("nowhere"), "unknown-topic"],
      [worker.receive("work", { max: 11 }), "bad-request"],
      [worker.receive("work", { waitSeconds: 21 }), "bad-request"],
      [worker.finish("work", "x"), "bad-request"],
      [worker.bury("orders", "x"), "not-a-pull-topic"],
    ] as const;
    for (const [call, code] of refusals) await expect(call).rejects.toMatchObject({ code });
  });

  test("waits in one long poll of SQS, and makes no more calls than the operation itself", async () => {
    const callsOf = async (pull: (world: World) => Promise<unknown>) => {
      const world = createWorld();
      await world.file({ topic: "work", delay: 0 });
      const calls: string[] = [];
      const poll = vi.spyOn(world.queues, "receive");
      world.pool.hooks.before = ({ operation }) => void calls.push(operation);
      world.queues.hooks.before = ({ operation }) => void calls.push(operation);
      expect(await pull(world)).toHaveLength(1);
      return [...calls, ...poll.mock.calls.map(([, asked]) => asked)];
    };
    const asked = { max: 10, waitSeconds: 20 };
    const plain = await callsOf(({ ctx, timers }) => receive(ctx, "work", asked, timers));
    expect(plain).toContainEqual(expect.objectContaining(asked));
    expect(await callsOf((world) => workerOf(world).receive("work", asked))).toEqual(plain);
  });

  test("gets no job of a paused topic, and asks SQS for none", async () => {
    const world = createWorld();
    await world.file({ topic: "work", delay: 0 });
    await pauseTopic(world.ctx, "work");
    const poll = vi.spyOn(world.queues, "receive");
    expect(await workerOf(world).receive("work")).toEqual([]);
    expect(poll).not.toHaveBeenCalled();
    await resumeTopic(world.ctx, "work", undefined);
    await world.pass(6 * SECOND);
    expect(await workerOf(world).receive("work")).toHaveLength(1);
  });

  test("hands out no job of a topic that is paused while the worker waits", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work", delay: 0 });
    const { receive: poll } = world.queues;
    vi.spyOn(world.queues, "receive").mockImplementation(async (...asked): Promise<Received[]> => {
      await pauseTopic(world.ctx, "work");
      await world.pass(6 * SECOND, { ticks: false });
      return poll(...asked);
    });
    expect(await workerOf(world).receive("work")).toEqual([]);
    expect(await world.home(id)).toMatchObject({ state: "scheduled", attempt: 0 });
  });

  test("throws the reason of an abort at once, and gives the jobs back that still come", async () => {
    const world = createWorld();
    const { id } = await world.file({ topic: "work", delay: 0, maxAttempts: 1 });
    const { receive: poll } = world.queues;
    const arriving = Promise.withResolvers<void>();
    const polled = vi.spyOn(world.queues, "receive").mockImplementation(async (...asked) => {
      const messages = await poll(...asked);
      await arriving.promise;
      return messages;
    });
    const done = vi.fn();
    const worker = directWorkerOn(world.ctx, log, done);
    const caller = new AbortController();
    const waiting = worker.receive("work", { waitSeconds: 20, signal: caller.signal });
    await expect.poll(() => polled).toHaveBeenCalledOnce();
    caller.abort(new Error("the worker stops"));
    await expect(waiting).rejects.toThrow("the worker stops");
    expect(done).not.toHaveBeenCalled();
    arriving.resolve();
    await expect.poll(() => done).toHaveBeenCalledOnce();
    expect(world.visible("work")).toMatchObject([{ id }]);
    await expect(worker.receive("work", { signal: caller.signal })).rejects.toThrow("the worker stops");
    expect(await worker.receive("work")).toMatchObject([{ id, attempt: 1 }]);
  });

  const denied = "User: arn:aws:sts::1:assumed-role/worker is not authorized to perform: sqs:receivemessage";
  test.each([
    ["the queue", unavailable("SQS did not answer a receive", sdkError("AccessDenied", denied)), denied],
    ["the table", sdkError("AccessDeniedException", denied), denied],
    [
      "the key",
      unavailable("SQS did not answer a receive", sdkError("KmsAccessDenied", "no kms:Decrypt")),
      "kms:Decrypt",
    ],
    [
      "AWS itself, without credentials",
      sdkError("CredentialsProviderError", "Could not load credentials"),
      "load",
    ],
  ])("says which permission is missing on %s", async (_, thrown, said) => {
    const world = createWorld();
    vi.spyOn(world.queues, "receive").mockRejectedValue(thrown);
    const call = workerOf(world).receive("work");
    await expect(call).rejects.toMatchObject({ code: "forbidden", status: 403 });
    await expect(call).rejects.toThrow(said);
    await expect(call).rejects.toThrow("grantPull");
  });

  test("answers other troubles as the API does, without the text of AWS", async () => {
    const world = createWorld();
    const thrown = unavailable("SQS did not answer a receive", sdkError("TimeoutError", "secret"));
    vi.spyOn(world.queues, "receive").mockRejectedValue(thrown);
    const call = workerOf(world).receive("work");
    await expect(call).rejects.toMatchObject({ code: "unavailable", status: 503 });
    await expect(call).rejects.not.toThrow("secret");
  });

  test("writes the metrics of each request at its end", async () => {
    // With `POWERTOOLS_DEV`, Powertools writes to the global console, which this test replaces, and not to a console of its own.
    const settings = { DEV: "true", METRICS_DISABLED: "false" };
    for (const [name, value] of Object.entries(settings)) vi.stubEnv(`POWERTOOLS_${name}`, value);
    const written = vi.spyOn(console, "log").mockImplementation(() => {});
    onTestFinished(() => {
      vi.unstubAllEnvs();
      vi.restoreAllMocks();
    });
    const world = createWorld();
    await world.file({ topic: "work", delay: 0 });
    const { logger, report, flush } = createTelemetry("minutehand");
    await directWorkerOn({ ...world.ctx, report }, logger, flush).receive("work");
    const [[line] = []] = written.mock.calls;
    expect(JSON.parse(String(line))).toMatchObject({ topic: "work", Lateness: 0 });
  });

  test("names the variable that is missing, and where it comes from", () => {
    vi.stubEnv("MINUTEHAND_POLICY", undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(() => directWorker()).toThrow(
      /^environment variable MINUTEHAND_POLICY must be set: .*grantPull.*`environment`/,
    );
  });
});
