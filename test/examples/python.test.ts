import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { createApi } from "../support/api.ts";
import { botocoreTest, pythonTest } from "../support/python.ts";
import type { Received } from "../support/receiver.ts";
import { serveInTrouble } from "../support/troubled-api.ts";
import { createWorld } from "../support/world.ts";
import { declareProducer, declareWorker, ended, type Programs, start, workOnce } from "./declare-programs.ts";

const FOLDER = join(import.meta.dirname, "../../examples/python");

const programs: Programs = {
  language: "Python",
  test: pythonTest,
  signatureTest: botocoreTest,
  command: (program) => ["python3", join(FOLDER, `${program}.py`)],
  widthError: "ValueError: width must be more than 0, is 0",
  lost: /^extend: .*409/m,
};

declareWorker(programs);
declareProducer(programs);

type Call = { name: string; max?: number; receipt?: string; finished: number };

/** Starts the worker with two threads on an API with three due jobs. `onCall` is awaited before a call's answer; `stop` sends SIGTERM. */
async function workInThreads(onCall: (call: Call, stop: () => void) => unknown) {
  const world = createWorld({ topics: { thumbnail: { consumer: "pull" } } });
  for (const width of [40, 80, 120])
    await world.file({ topic: "thumbnail", body: JSON.stringify({ image: "cat.png", width }) });
  const calls: Call[] = [];
  const note = async () => {
    const { path, body } = served.received.at(-1) as Received;
    const finished = calls.filter(({ name }) => name === "finish").length;
    const call = { name: path.replace("/topics/thumbnail/", ""), ...JSON.parse(body), finished };
    calls.push(call);
    await onCall(call, () => worker.kill("SIGTERM"));
  };
  await using served = await serveInTrouble(Array(10_000).fill(note), createApi(world));
  const env = { MINUTEHAND_URL: served.url, WORK_SECONDS: "1", EXTEND_EVERY: "0.3", WAIT_SECONDS: "1" };
  const worker = start([...programs.command("worker"), "--concurrency", "2"], env);
  const end = await ended(worker);
  const states = world.pool.items().flatMap((item) => ("state" in item ? [item.state] : []));
  return { ...end, calls, states: states.sort() };
}

pythonTest(
  "the Python worker with two threads runs two jobs at once, extends both leases, and receives only what a free thread runs",
  async () => {
    const asked: (number | undefined)[] = [];
    const second = Promise.withResolvers<void>();
    const { calls, states, status } = await workInThreads(async ({ name, max, finished }, stop) => {
      if (name === "receive" && asked.push(max) === 2) second.resolve();
      if (name === "finish" && finished === 1) await second.promise; // until then one thread is busy
      if (name === "finish" && finished === 2) stop();
    });
    expect({ states, status }).toEqual({ states: ["done", "done", "done"], status: 0 });
    expect(asked.slice(0, 2)).toEqual([2, 1]);
    const extended = calls.filter(({ name, finished }) => name === "extend" && finished === 0);
    expect(new Set(extended.map(({ receipt }) => receipt)).size).toBe(2);
  },
);

pythonTest("the Python worker with two threads ends at SIGTERM when both jobs are done", async () => {
  const { calls, states, status, told } = await workInThreads(({ name }, stop) => {
    if (name === "extend") stop();
  });
  expect({ states, status }).toEqual({ states: ["done", "done", "scheduled"], status: 0 });
  expect(calls.filter(({ name }) => name === "receive")).toHaveLength(1);
  expect(told).toMatch(/^waits for jobs of thumbnail at http:\S+\n$/);
});

pythonTest("the Python worker ends with an error if a call of a thread is refused", async () => {
  for (const options of [[], ["--once", "--concurrency", "2"]]) {
    const api = createApi(createWorld({ topics: { thumbnail: { consumer: "pull" } } }));
    await api.file({ topic: "thumbnail", delay: 0, body: { image: "cat.png", width: 120 } });
    await using served = await serveInTrouble([undefined, { status: 403 }], api);
    const worker = start([...programs.command("worker"), ...options], { MINUTEHAND_URL: served.url });
    expect(await ended(worker)).toMatchObject({ status: 1, told: expect.stringContaining("\n403 ") });
    expect(served.received).toHaveLength(2);
  }
});

pythonTest("the Python worker buries a job that fails with an error that is not of RETRIED", async () => {
  const worker = readFileSync(join(FOLDER, "worker.py"), "utf8");
  const changed = worker.replace("RETRIED = (Exception,)", "RETRIED = (OSError,)");
  const body = { image: "cat.png", width: 0 };
  const { job } = await workOnce({ ...programs, command: () => ["python3", "-c", changed] }, body, () => [], {
    PYTHONPATH: FOLDER,
  });
  expect(job).toMatchObject({ state: "dead", attempt: 1, lastError: programs.widthError });
});

botocoreTest("the Python programs sign calls of a domain name of one's own for AWS_REGION", () => {
  const program = `
import api
class Opener:
    def open(self, request, timeout):
        print(request.get_header("Authorization"))
        raise TimeoutError
api.opener = Opener()
try:
    api.call("https://jobs.shop.example", "GET", "/health", go_on=lambda tries: False)
except TimeoutError:
    pass
`;
  const key = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret" };
  const env = { ...process.env, ...key, AWS_REGION: "eu-west-1" };
  const printed = execFileSync("python3", ["-c", program], { cwd: FOLDER, env, encoding: "utf8" });
  expect(printed).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-west-1\/execute-api\//);
});
