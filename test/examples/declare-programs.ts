import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { type Api, createApi } from "../support/api.ts";
import { expectSigned, serveGateway } from "../support/gateway.ts";
import { serveInTrouble, type Trouble } from "../support/troubled-api.ts";
import { createWorld, MINUTE } from "../support/world.ts";

/** The worker and the producer of the examples in one language. */
export type Programs = {
  readonly language: string;
  readonly test: (name: string, run: () => Promise<void>) => void;
  /** As `test`, for a test that also needs what signs. */
  readonly signatureTest: Programs["test"];
  /** The command of a program, without its arguments. */
  readonly command: (program: "worker" | "producer") => readonly [string, ...string[]];
  /** What the worker prints about a thumbnail without a width. */
  readonly widthError: string;
  /** What `lastError` says of it, if not the same. */
  readonly lastError?: string;
  /** What the worker prints when another worker has got its job. */
  readonly lost: RegExp;
};

const BODY = { image: "cat.png", width: 120 };
const PRINTED = "cat.png at 120 px, attempt 1\n";

type Ended = { printed: string; told: string; status: number };

export function start(
  [command, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv = {},
): ChildProcess {
  return spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
}

export async function ended(program: ChildProcess): Promise<Ended> {
  const [printed, told, [status]] = await Promise.all([
    text(program.stdout as NodeJS.ReadableStream),
    text(program.stderr as NodeJS.ReadableStream),
    once(program, "close"),
  ]);
  return { printed, told, status };
}

/** Runs the worker on an API with one topic, until it has pulled once. `troublesOf`: what happens to its first calls. */
export async function workOnce(
  { command }: Programs,
  body: object,
  troublesOf: (api: Api) => (Trouble | undefined)[] = () => [],
  env: NodeJS.ProcessEnv = {},
) {
  const world = createWorld({ topics: { thumbnail: { consumer: "pull" } } });
  const api = createApi(world);
  await using served = await serveInTrouble(troublesOf(api), api);
  const { id } = await world.file({ topic: "thumbnail", body: JSON.stringify(body) });
  const end = await ended(start([...command("worker"), "--once"], { ...env, MINUTEHAND_URL: served.url }));
  const calls = served.received.map(({ path }) => path.replace("/topics/thumbnail/", ""));
  return { ...end, calls, id, job: await world.home(id) };
}

export function declareWorker(programs: Programs): void {
  declareRuns(programs);
  declareLeases(programs);
  declareWait(programs);
  declareTroubles(programs);
  declareStop(programs);
  declareRedirect(programs);
}

export function declareRuns(programs: Programs): void {
  const { language, test, widthError, lastError = widthError } = programs;
  test(`the ${language} worker runs a job and finishes it`, async () => {
    const { printed, status, job } = await workOnce(programs, BODY);
    expect({ printed, status }).toEqual({ printed: PRINTED, status: 0 });
    expect(job).toMatchObject({ state: "done", attempt: 1 });
  });

  test(`the ${language} worker asks for a retry of a job that fails, with the reason, and prints both`, async () => {
    const { printed, told, status, id, job } = await workOnce(programs, { ...BODY, width: 0 });
    expect({ printed, status }).toEqual({ printed: "", status: 0 });
    expect(told).toContain(`job ${id}, attempt 1: ${widthError}\n`);
    expect(job).toMatchObject({ state: "scheduled", lastError: expect.stringContaining(lastError) });
  });

  test(`the ${language} worker pulls the topic of its argument, and says in a sentence that there is none`, async () => {
    const api = createApi(createWorld({ topics: { photo: { consumer: "pull" } } }));
    await using served = await serveInTrouble([], api);
    await api.world.file({ topic: "photo", body: JSON.stringify(BODY) });
    const [work, wrong] = await Promise.all(
      ["photo", "none"].map((topic) =>
        ended(start([...programs.command("worker"), topic, "--once"], { MINUTEHAND_URL: served.url })),
      ),
    );
    expect(work).toMatchObject({ printed: PRINTED, status: 0 });
    expect(wrong).toMatchObject({ printed: "", status: 1 });
    expect(wrong?.told).toMatch(/^waits for jobs of none at http:[^\n]*\n[^\n]*none[^\n]*\n$/);
  });
}

export function declareLeases(programs: Programs): void {
  const { language, test, lost } = programs;
  test(`the ${language} worker extends its lease while a job runs`, async () => {
    const env = { WORK_SECONDS: "1", EXTEND_EVERY: "0.3" };
    const { printed, status, job, calls } = await workOnce(programs, BODY, () => [], env);
    expect({ printed, status }).toEqual({ printed: PRINTED, status: 0 });
    expect([calls[0], calls[1], calls.at(-1)]).toEqual(["receive", "extend", "finish"]);
    expect(new Set(calls.slice(1, -1))).toEqual(new Set(["extend"]));
    expect(job).toMatchObject({ state: "done", attempt: 1 });
  });

  test(`the ${language} worker stops its work when another worker has got the job`, async () => {
    const troublesOf = ({ world, call }: Api): (Trouble | undefined)[] => {
      const leaseEnds = async () => {
        await world.pass(2 * MINUTE);
        await call("POST", "/topics/thumbnail/receive");
      };
      return [undefined, leaseEnds];
    };
    const began = performance.now();
    const env = { WORK_SECONDS: "600", EXTEND_EVERY: "0.2" };
    const { told, status, job, calls } = await workOnce(programs, BODY, troublesOf, env);
    expect(performance.now() - began).toBeLessThan(600_000);
    expect(status).toBe(0);
    expect(calls.slice(0, 2)).toEqual(["receive", "extend"]);
    expect(told).toMatch(lost);
    expect(job).toMatchObject({ attempt: 1 });
    expect(job?.state).not.toBe("done");
  });
}

function declareWait({ language, test, command }: Programs): void {
  test(`the ${language} worker waits for WAIT_SECONDS in each receive`, async () => {
    const api = apiOf();
    await api.file({ topic: "thumbnail", delay: 0, body: BODY });
    await using served = await serveInTrouble([], api);
    const env = { MINUTEHAND_URL: served.url, WAIT_SECONDS: "3" };
    expect(await ended(start([...command("worker"), "--once"], env))).toMatchObject({ status: 0 });
    expect(JSON.parse(served.received[0]?.body ?? "")).toEqual({ max: 1, waitSeconds: 3 });
  });
}

function declareTroubles(programs: Programs): void {
  const { language, test } = programs;
  test(`the ${language} worker goes on when the API is away for a while, and when a lease has ended`, async () => {
    const troublesOf = ({ world, call }: Api): (Trouble | undefined)[] => {
      const leaseEnds = async () => {
        await world.pass(2 * MINUTE);
        await call("POST", "/topics/thumbnail/receive");
      };
      return [{ status: 503, headers: { "retry-after": "0" } }, "cut before", undefined, leaseEnds];
    };
    const { printed, told, status, job } = await workOnce(programs, BODY, troublesOf);
    expect({ printed, status }).toEqual({ printed: PRINTED, status: 0 });
    expect(told.split("\n")).toEqual([
      expect.stringMatching(/^waits for jobs of thumbnail at http:/),
      expect.stringMatching(/^.topics.thumbnail.receive: .*503.*; again in 0 s$/),
      expect.stringMatching(/^.topics.thumbnail.receive: .*; again in 0.4 s$/),
      "/topics/thumbnail/receive: the API answers again",
      expect.stringMatching(/^.topics.thumbnail.finish: .*409.*; it took longer than its lease$/),
      "",
    ]);
    expect(job).toMatchObject({ state: "scheduled", attempt: 1 });
  });

  test(`the ${language} worker goes on when Retry-After is a date, and when an answer is not JSON`, async () => {
    const troubles: Trouble[] = [
      { status: 503, headers: { "retry-after": "Sun, 01 Mar 2026 09:00:00 GMT" } },
      { status: 200, body: "<html>" },
    ];
    const { printed, told, status, job } = await workOnce(programs, BODY, () => troubles);
    expect({ printed, status }).toEqual({ printed: PRINTED, status: 0 });
    expect(told.split("\n")).toEqual([
      expect.stringMatching(/^waits for jobs of thumbnail at http:/),
      expect.stringMatching(/^.topics.thumbnail.receive: .*503.*; again in 0.2 s$/),
      expect.stringMatching(/^.topics.thumbnail.receive: .*; again in 0.4 s$/),
      "/topics/thumbnail/receive: the API answers again",
      "",
    ]);
    expect(job).toMatchObject({ state: "done", attempt: 1 });
  });
}

export function declareStop({ language, test, command }: Programs): void {
  test(`the ${language} worker that gets SIGTERM lets its receive end, and loses no job and no attempt`, async () => {
    const world = createWorld({ topics: { thumbnail: { consumer: "pull", maxAttempts: 1 } } });
    const api = createApi(world);
    let worker: ChildProcess | undefined;
    const arrived: Trouble = async () => {
      // The job comes while the worker is already stopping.
      worker?.kill("SIGTERM");
      await sleep(300);
      await world.file({ topic: "thumbnail", body: JSON.stringify(BODY) });
    };
    await using served = await serveInTrouble([arrived], api);
    worker = start([...command("worker")], { MINUTEHAND_URL: served.url });
    expect(await ended(worker)).toEqual({
      printed: PRINTED,
      told: `waits for jobs of thumbnail at ${served.url}\n`,
      status: 0,
    });
    const homes = world.pool.items().filter((item) => "state" in item);
    expect(homes).toMatchObject([{ state: "done", attempt: 1 }]);
  });
}

const NAMES = { image: "cat:1@2x.png", path: "/topics/thumbnail/jobs/cat%3A1%402x.png" };
function produce(
  { command }: Programs,
  url: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  return ended(start([...command("producer"), ...args], { ...env, MINUTEHAND_URL: url }));
}

const apiOf = () => createApi(createWorld({ topics: { thumbnail: { consumer: "pull" } } }));

export function declareProducer(programs: Programs): void {
  declareCalls(programs);
  declareRefusals(programs);
  declareSignature(programs);
}

function declareCalls(programs: Programs): void {
  const { language, test } = programs;
  test(`the ${language} producer files one job although the first answer is lost, and cancels it`, async () => {
    const api = apiOf();
    await using served = await serveInTrouble(["cut after"], api);
    const filed = await produce(programs, served.url, ["file", NAMES.image, "120", "30m"]);
    const { json } = await api.call("GET", NAMES.path);
    expect(filed).toMatchObject({ printed: `${json.id} is due at 2026-03-01T09:30:00.000Z\n`, status: 0 });
    expect(json).toMatchObject({ state: "scheduled", revision: 0, body: { image: NAMES.image, width: 120 } });
    const keys = served.received.map(({ headers }) => headers["idempotency-key"]);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
    expect(await produce(programs, served.url, ["cancel", NAMES.image])).toEqual({
      printed: "cancelled\n",
      told: "",
      status: 0,
    });
  });
}

function declareRefusals(programs: Programs): void {
  const { language, test } = programs;
  test(`the ${language} producer says why it cannot cancel a job`, async () => {
    const api = apiOf();
    await using served = await serveInTrouble([], api);
    const cancel = () => produce(programs, served.url, ["cancel", NAMES.image]);
    expect(await cancel()).toMatchObject({ printed: "job-not-found\n", status: 0 });
    await api.file({ topic: "thumbnail", key: NAMES.image, delay: 0 });
    await api.receive("thumbnail");
    expect(await cancel()).toMatchObject({ printed: "job-running\n", status: 0 });
  });

  test(`the ${language} producer gives up after six tries, and at once if the call is refused`, async () => {
    const away: Trouble = { status: 503, headers: { "retry-after": "0" } };
    await using troubled = await serveInTrouble(Array(7).fill(away), apiOf());
    expect(await produce(programs, troubled.url, ["cancel", NAMES.image])).toMatchObject({
      printed: "",
      status: 1,
    });
    expect(troubled.received).toHaveLength(6);
    await using served = await serveInTrouble([], apiOf());
    const refused = await produce(programs, served.url, ["file", NAMES.image, "120", "soon"]);
    expect(refused).toMatchObject({
      printed: "",
      status: 1,
      told: expect.stringContaining("400 bad-request"),
    });
    expect(served.received).toHaveLength(1);
  });
}

function declareRedirect({ language, test, command }: Programs): void {
  test(`the ${language} worker follows no redirect, which would turn its POST into a GET`, async () => {
    const moved: Trouble = { status: 302, headers: { location: "/health" } };
    await using served = await serveInTrouble([moved], apiOf());
    const end = await ended(start([...command("worker"), "--once"], { MINUTEHAND_URL: served.url }));
    expect(end).toMatchObject({ printed: "", status: 1, told: expect.stringContaining("302") });
    expect(served.received).toHaveLength(1);
  });
}

function declareSignature(programs: Programs): void {
  const { language, signatureTest } = programs;

  signatureTest(`the ${language} producer signs its calls of API Gateway`, async () => {
    await using gateway = await serveGateway(apiOf());
    const { env, url, received } = gateway;
    const filed = await produce(programs, url, ["file", NAMES.image, "120", "30m"], env);
    expect(filed).toMatchObject({ told: "", status: 0 });
    expect(await produce(programs, url, ["cancel", NAMES.image], env)).toMatchObject({
      printed: "cancelled\n",
    });
    expect(received.map(({ method }) => method)).toEqual(["PUT", "DELETE"]);
    for (const call of received) expectSigned(call);
  });
}
