import { expect, test } from "vitest";
import type { CarriedAction, Change, Chosen } from "../../console/carried.ts";
import { createCarried } from "../../console/carried.ts";
import { unfinishedTexts } from "../../src/cli/unfinished-actions.ts";
import type { Call } from "../../src/client/call.ts";
import { MinutehandError } from "../../src/core/errors.ts";

const RANGE = { from: "2030-01-01T00:00:00.000Z", to: "2030-01-02T00:00:00.000Z" };
const idOf = (number: number) => `01KJMF8S00G0${String(number).padStart(14, "0")}`;
const jobsOf = (count: number): Chosen[] => Array.from({ length: count }, (_, n) => ({ id: idOf(n) }));

type Body = { readonly ids?: string[]; readonly delay?: number };
type Sent = [method: string, path: string, sent: NonNullable<Parameters<Call>[3]> & { body: Body }];

/** Carries on an action over an API that answers `answer`, until the action has ended. */
async function carry(
  change: Change,
  jobs: readonly Chosen[],
  answer: (method: string, path: string, body: Body) => object,
) {
  const calls: Sent[] = [];
  const call = (async (method, path, _shape, sent) => {
    calls.push([method, path, sent as Sent[2]]);
    return answer(method, path, (sent?.body ?? {}) as Body);
  }) as Call;
  let ids = 0;
  const carried = createCarried(
    () => 0,
    () => `key-${++ids}`,
  );
  carried.start(
    { change, lines: [{ which: { topic: "work", ...RANGE, jobs }, counted: jobs.length }] },
    call,
  );
  await expect.poll(() => carried.list()[0]?.state).not.toBe("running");
  return { action: carried.list()[0] as CarriedAction, calls, carried };
}

test("chosen dead jobs are redriven in parts of 100, each at its place in the rate, and with a key of its own", async () => {
  const change = { action: "redrive", ratePerSecond: 2, reason: "the shop is back" } as const;
  const { action, calls } = await carry(change, jobsOf(250), (_, __, { ids = [] }) => ({
    redriven: ids.length,
  }));
  expect(action).toMatchObject({ state: "done", lines: [{ changed: 250, skipped: {}, left: [] }] });
  expect(action.lines[0]?.which).toEqual({ topic: "work", ...RANGE, jobs: [] });
  expect(calls.map(([, path, { body }]) => [path, body.delay])).toEqual([
    ["/topics/work/redrive", 0],
    ["/topics/work/redrive", 50],
    ["/topics/work/redrive", 100],
  ]);
  expect(calls.map(([, , { body }]) => body.ids?.length)).toEqual([100, 100, 50]);
  expect(calls[0]?.[2].query).toEqual({ reason: "the shop is back" });
  expect(new Set(calls.map(([, , sent]) => sent.idempotencyKey)).size).toBe(3);
});

test("a redrive names the jobs that it has left dead, and why", async () => {
  const { action } = await carry({ action: "redrive" }, jobsOf(3), (_, path) => {
    if (path.endsWith("/redrive")) return { redriven: 1 };
    const id = path.split("/").at(-1) ?? "";
    return { id, key: "order-17", state: id === idOf(1) ? "dead" : "scheduled" };
  });
  const detail = `job ${idOf(1)} is still dead: its key "order-17" names another job by now`;
  expect(action.lines).toMatchObject([
    { changed: 1, skipped: { "job-already-exists": 1 }, left: [{ id: idOf(1), detail }] },
  ]);
});

test("a dismissal names the jobs that it has left", async () => {
  const problem = { code: "job-not-dead", detail: `job ${idOf(1)} is running` };
  const { action } = await carry({ action: "dismiss" }, jobsOf(2), () => ({
    ...{ dismissed: 1, errors: [{ id: idOf(1), problem }] },
  }));
  const left = [{ id: idOf(1), ...problem }];
  expect(action.lines).toMatchObject([{ changed: 1, skipped: { "job-not-dead": 1 }, left }]);
});

test("jobs are put back only as they were seen, and a job that somebody else has changed is left", async () => {
  const jobs = [1, 2].map((n) => ({ id: `01KJMA0SCG008DS270HCQCKA0${n}`, revision: n, dueAt: RANGE.from }));
  const change = { action: "move", shift: "-1h" } as const;
  const { action, calls } = await carry(change, jobs, (_, path) => {
    if (path.endsWith("2")) throw new MinutehandError("changed-meanwhile", "it has revision 3 now");
    return { id: "01KJMA0SCG008DS270HCQCKA01" };
  });
  expect(calls[0]).toMatchObject(["PATCH", `/jobs/${jobs[0]?.id}`, { body: { dueAt: RANGE.from } }]);
  expect(calls[0]?.[2].ifMatch).toEqual({ id: jobs[0]?.id, revision: 1 });
  expect(action).toMatchObject({ state: "done", lines: [{ changed: 1, left: [{ id: jobs[1]?.id }] }] });
});

test("a part without an answer ends the action, which says how to do the rest", async () => {
  let calls = 0;
  const { action, carried } = await carry({ action: "redrive" }, jobsOf(102), (_, __, { ids = [] }) => {
    if (++calls === 2) throw new MinutehandError("unavailable", "no answer");
    return { redriven: ids.length };
  });
  expect(action).toMatchObject({ state: "failed", lines: [{ changed: 100, isDone: false }] });
  const [text] = unfinishedTexts(await carried.stopAll(Promise.resolve()), { url: "http://shop" }, {});
  expect(text).toContain(
    `to continue, run: minutehand redrive work ${idOf(100)} ${idOf(101)} --url http://shop`,
  );
});
