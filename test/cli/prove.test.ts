import { expect, test } from "vitest";
import { DOLLARS_A_JOB, extentOf } from "../../src/cli/prove.ts";
import { writtenBill } from "../../tools/bench/bill/table.ts";
import { SECOND } from "../support/world.ts";
import { type } from "./command-line.ts";
import { type ServedApi, serveApi } from "./served-api.ts";

const PROVE = ["prove", "--topic", "work", "--jobs", "3"];
/** The body with which the worker below fails in the first attempt. */
const FAILING = ["--failing-body", '{"fail": true}'];

/** Lets time pass second by second while a worker runs all jobs that are due. `fails`: whether the run of a job fails. */
function worked({ world, call }: ServedApi, fails: (body: unknown, attempt: number) => boolean) {
  return async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += SECOND) {
      await world.pass(SECOND);
      const { json } = await call("POST", "/topics/work/receive", { body: { max: 10 } });
      for (const { receipt, body, attempt } of json.jobs as Received[])
        await call("POST", `/topics/work/${fails(body, attempt) ? "retry" : "finish"}`, {
          body: { receipt },
        });
    }
  };
}

type Received = { receipt: string; body: unknown; attempt: number };

const failsOnce = (body: unknown, attempt: number): boolean =>
  attempt === 1 && JSON.stringify(body) === '{"fail":true}';

async function statesIn({ call }: ServedApi): Promise<string[]> {
  const { json } = await call("GET", "/jobs?topic=work&to=2026-03-01T10:00:00Z&from=2026-03-01T09:00:00Z");
  return (json.jobs as { state: string }[]).map(({ state }) => state).sort();
}

test("prove tells for each promise how many jobs kept it, and how late they started", async () => {
  await using api = await serveApi();
  const { code, lines, err } = await type(api, [...PROVE, ...FAILING, "--yes", "--json"], {
    wait: worked(api, failsOnce),
  });
  expect(err).toMatch(
    /^prove files 12 jobs in the topic work of http.*\. Its handler runs 9 of them, .* charges at most \$0\.01/,
  );
  expect(lines).toEqual([
    { what: "on time, filed shortly before due", jobs: 3, kept: 3, ...lateness() },
    { what: "on time, sent by the tick", jobs: 3, kept: 3, ...lateness() },
    { what: "cancelled, and never run", jobs: 3, kept: 3 },
    { what: "run again after a failure", jobs: 3, kept: 3, ...lateness() },
  ]);
  expect(code).toBe(0);
  expect(await statesIn(api)).toEqual([...Array(3).fill("cancelled"), ...Array(9).fill("done")]);
});

test("prove fails if a job does not run, and cancels it", async () => {
  await using api = await serveApi();
  const { code, out, err } = await type(api, [...PROVE, "--yes"], { wait: (ms) => api.world.pass(ms) });
  expect(code).toBe(1);
  expect(out).toMatch(/^WHAT +JOBS +AS PROMISED\n/);
  expect(out).toMatch(/^on time, sent by the tick +3 +0$/m);
  expect(err).toMatch(/cancelled 6 jobs that still waited\nno retry was proven: that needs --failing-body\n/);
  expect(err).toMatch(/minutehand: 6 jobs did not do as promised: see "minutehand doctor"\n$/);
  expect(await statesIn(api)).toEqual(Array(9).fill("cancelled"));
});

test("prove fails if jobs start late, and says how late", async () => {
  await using api = await serveApi();
  const work = worked(api, failsOnce);
  const from = api.world.now() + 340 * SECOND;
  const { code, out, err } = await type(api, [...PROVE, "--yes"], {
    wait: (ms) => (api.world.now() < from ? api.world.pass(ms) : work(ms)),
  });
  expect(out).toMatch(/^on time, filed shortly before due +3 +0 +\d{6} ms +\d{6} ms +\d{6} ms$/m);
  expect(err).toMatch(/minutehand: \d jobs did not do as promised: see "minutehand doctor"\n$/);
  expect(code).toBe(1);
});

test("Ctrl-C cancels the jobs that still wait, before prove ends", async () => {
  await using api = await serveApi();
  let waits = 0;
  const { code, err } = await type(api, [...PROVE, "--yes"], {
    async wait(ms, interrupt) {
      await worked(api, failsOnce)(ms);
      // The jobs of the first part have run after 50 s.
      if (++waits < 11) return;
      interrupt();
      return new Promise<void>(() => {});
    },
  });
  expect({ code, err }).toMatchObject({
    code: 130,
    err: expect.stringMatching(/cancelled 3 jobs that still waited\n$/),
  });
  expect(await statesIn(api)).toEqual([...Array(6).fill("cancelled"), ...Array(3).fill("done")]);
});

test("prove files nothing without a yes, in an untracked topic, or in a paused one", async () => {
  await using api = await serveApi();
  expect(await type(api, PROVE)).toMatchObject({
    code: 2,
    err: "minutehand: this command would file jobs: confirm with --yes\n",
  });
  expect(await type(api, PROVE, { terminal: true, input: "n\n" })).toMatchObject({
    code: 1,
    err: expect.stringMatching(/file them\? \[y\/N\] minutehand: nothing was filed\n$/),
  });
  expect(await type(api, ["prove", "--topic", "events", "--yes"])).toMatchObject({
    code: 2,
    err: 'minutehand: --topic must be a tracked topic, because nothing records the runs of "events"\n',
  });
  await api.call("POST", "/topics/work/pause");
  expect(await type(api, [...PROVE, "--yes"])).toMatchObject({
    code: 1,
    err: "minutehand: topic work is paused: wait until its jobs start again\n",
  });
  expect(await type(api, [...PROVE, "--yes", "--failing-body", "{"])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^minutehand: --failing-body must be JSON/),
  });
  expect(await statesIn(api)).toEqual([]);
});

test("the price is more than that of the jobs in the bill", () => {
  const million = (name: string): number => {
    const line = writtenBill().find(({ workload }) => workload === name);
    return Number(line?.dollars);
  };
  for (const workload of ["tracked jobs, one every 2.5 s", "tracked jobs, one HTTP call each"])
    expect(DOLLARS_A_JOB * 1e6).toBeGreaterThan(million(workload));
  expect(extentOf({ topic: "work", jobs: 500, body: 1, failing: { body: 2 } })).toEqual({
    filed: 2000,
    run: 1500,
    dollars: 0.03,
  });
});

function lateness() {
  // The worker comes once a second.
  const late = expect.toSatisfy((ms: number) => ms >= 0 && ms <= 2 * SECOND);
  return { median: late, p99: late, most: late };
}
