import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { type Api, createApi } from "../support/api.ts";
import { pythonTest } from "../support/python.ts";
import { serveInTrouble, type Trouble } from "../support/troubled-api.ts";
import { createWorld, MINUTE } from "../support/world.ts";

const WORKER = join(import.meta.dirname, "../../examples/python-worker/worker.py");

/** Runs the worker on an API with one topic, until it has pulled once. `troublesOf`: what happens to its first calls. */
async function workOnce(body: object, troublesOf: (api: Api) => (Trouble | undefined)[] = () => []) {
  const world = createWorld({ topics: { thumbnail: { consumer: "pull" } } });
  const api = createApi(world);
  await using served = await serveInTrouble(troublesOf(api), api);
  const { id } = await world.file({ topic: "thumbnail", body: JSON.stringify(body) });
  const worker = spawn("python3", [WORKER, served.url, "--once"], { stdio: ["ignore", "pipe", "pipe"] });
  const [printed, told, [status]] = await Promise.all([
    text(worker.stdout),
    text(worker.stderr),
    once(worker, "close"),
  ]);
  return { printed, told, status, job: await world.home(id) };
}

pythonTest("the Python worker runs a job and finishes it", async () => {
  const { printed, status, job } = await workOnce({ image: "cat.png", width: 120 });
  expect({ printed, status }).toEqual({ printed: "cat.png at 120 px, attempt 1\n", status: 0 });
  expect(job).toMatchObject({ state: "done", attempt: 1 });
});

pythonTest("the Python worker asks for a retry of a job that fails, with the reason", async () => {
  const { printed, status, job } = await workOnce({ image: "cat.png", width: 0 });
  expect({ printed, status }).toEqual({ printed: "", status: 0 });
  expect(job).toMatchObject({ state: "scheduled", lastError: "ValueError: width must be more than 0, is 0" });
});

pythonTest(
  "the Python worker goes on when the API is away for a while, and when a lease has ended",
  async () => {
    const troublesOf = ({ world, call }: Api): (Trouble | undefined)[] => {
      const leaseEnds = async () => {
        await world.pass(2 * MINUTE);
        await call("POST", "/topics/thumbnail/receive");
      };
      return [{ status: 503, headers: { "retry-after": "0" } }, "cut before", undefined, leaseEnds];
    };
    const { printed, told, status, job } = await workOnce({ image: "cat.png", width: 120 }, troublesOf);
    expect({ printed, status }).toEqual({ printed: "cat.png at 120 px, attempt 1\n", status: 0 });
    expect(told.split("\n")).toEqual([
      expect.stringMatching(/^.topics.thumbnail.receive: HTTP Error 503: .*; again in 0 s$/),
      expect.stringMatching(/^.topics.thumbnail.receive: .*; again in 0.4 s$/),
      expect.stringMatching(/^.topics.thumbnail.finish: HTTP Error 409: .*; it took longer than its lease$/),
      "",
    ]);
    expect(job).toMatchObject({ state: "scheduled", attempt: 1 });
  },
);

pythonTest(
  "the Python worker goes on when Retry-After is a date, and when an answer is not JSON",
  async () => {
    const troubles: Trouble[] = [
      { status: 503, headers: { "retry-after": "Sun, 01 Mar 2026 09:00:00 GMT" } },
      { status: 200, body: "<html>" },
    ];
    const { printed, told, status, job } = await workOnce({ image: "cat.png", width: 120 }, () => troubles);
    expect({ printed, status }).toEqual({ printed: "cat.png at 120 px, attempt 1\n", status: 0 });
    expect(told.split("\n")).toEqual([
      expect.stringMatching(/^.topics.thumbnail.receive: HTTP Error 503: .*; again in 0.2 s$/),
      expect.stringMatching(/^.topics.thumbnail.receive: Expecting value: .*; again in 0.4 s$/),
      "",
    ]);
    expect(job).toMatchObject({ state: "done", attempt: 1 });
  },
);

pythonTest(
  "the Python worker that gets SIGTERM lets its receive end, and loses no job and no attempt",
  async () => {
    const world = createWorld({ topics: { thumbnail: { consumer: "pull", maxAttempts: 1 } } });
    const api = createApi(world);
    let worker: ChildProcess | undefined;
    const arrived: Trouble = async () => {
      // The job comes while the worker is already stopping.
      worker?.kill("SIGTERM");
      await sleep(300);
      await world.file({ topic: "thumbnail", body: JSON.stringify({ image: "cat.png", width: 120 }) });
    };
    await using served = await serveInTrouble([arrived], api);
    worker = spawn("python3", [WORKER, served.url], { stdio: ["ignore", "pipe", "inherit"] });
    const [printed, [status]] = await Promise.all([
      text(worker.stdout as NodeJS.ReadableStream),
      once(worker, "close"),
    ]);
    expect({ printed, status }).toEqual({ printed: "cat.png at 120 px, attempt 1\n", status: 0 });
    const homes = world.pool.items().filter((item) => "state" in item);
    expect(homes).toMatchObject([{ state: "done", attempt: 1 }]);
  },
);
