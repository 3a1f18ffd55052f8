import { describe, expect, test } from "vitest";
import { sweepText } from "../../src/cli/checks.ts";
import { counted } from "../../src/cli/columns.ts";
import type { Json } from "../support/api.ts";
import { createApi } from "../support/api.ts";
import { createWorld, MINUTE, SECOND } from "../support/world.ts";
import { type } from "./command-line.ts";
import { type ServedApi, serveApi } from "./served-api.ts";

/** Buries a job and lets a second pass, so that each job dies at another time. */
async function bury(api: ServedApi, error: string, more: Json = {}): Promise<string> {
  const id = await api.bury(more, error);
  await api.world.pass(SECOND);
  return id;
}

describe("topics", () => {
  test("prints a table with the numbers of jobs that wait, run and are dead", async () => {
    await using api = await serveApi();
    await api.world.tick();
    await api.file({ delay: 0 });
    await bury(api, "hopeless");
    const { code, out } = await type(api, ["topics"]);
    expect(code).toBe(0);
    expect(out.split("\n").slice(0, 3)).toEqual([
      "TOPIC    CONSUMER  TRACKING  READY  DELAYED  IN FLIGHT  DEAD  LATE  RETRYING  SWEEP",
      "orders   lambda    full          1        0          0     0     0         0  on time",
      "work     pull      full          0        0          0     1     0         0  on time",
    ]);
    expect((await type(api, ["topics", "--names"])).out).toBe("orders\nwork\nevents\nprecise\n");
  });

  test.each([
    [0, "on time"],
    [57, "on time"],
    [149.6, "on time"],
    [151.4, "2m 31s behind"],
  ])("a sweep lag of %d s is shown as %s", (lag, text) => {
    expect(sweepText(lag)).toBe(text);
  });

  test("prints one topic, or each, as JSON", async () => {
    await using api = await serveApi();
    const { lines } = await type(api, ["topics", "--json"]);
    expect(lines).toMatchObject([
      { topic: "orders" },
      { topic: "work" },
      { topic: "events" },
      { topic: "precise" },
    ]);
    expect((await type(api, ["topics", "work", "--json"])).lines).toEqual([lines[1]]);
    expect((await type(api, ["topics", "--names", "--json"])).lines).toEqual([
      "orders",
      "work",
      "events",
      "precise",
    ]);
    expect(await type(api, ["topics", "nothing"])).toMatchObject({ code: 1, out: "" });
  });
});

test("topics prints nothing if there are no topics", async () => {
  await using api = await serveApi(createApi(createWorld({ topics: {} })));
  expect(await type(api, ["topics", "--names"])).toMatchObject({ code: 0, out: "", err: "" });
});

describe("dead and redrive", () => {
  test("list the dead with their errors, and run them again by id, number and default", async () => {
    await using api = await serveApi();
    const [first, second, third] = [
      await bury(api, "one\ntwo"),
      await bury(api, "2"),
      await bury(api, "3", { tag: "t" }),
    ];
    const { out } = await type(api, ["dead", "work"]);
    const lines = out.split("\n");
    expect(lines[0]).toMatch(/^DIED +ID +TAG +ATTEMPT +ERROR$/);
    expect(lines[1]).toMatch(new RegExp(`^2026-03-01T09:00:00.000Z  ${first} +1/10  one$`));
    const some = await type(api, ["dead", "work", "--limit", "2", "--json"]);
    expect(some.lines).toMatchObject([{ id: first, lastError: "one\ntwo" }, { id: second }]);
    expect(some.err).toBe("there are more than 2 dead jobs: see --limit\n");
    expect((await type(api, ["dead", "work", "--tag", "t", "--json"])).lines).toMatchObject([{ id: third }]);
    expect((await type(api, ["dead", "work", "--group", "g"])).err).toBe("no dead job\n");

    const named = await type(api, ["redrive", "work", second]);
    expect(named.out).toBe("redriven 1 job of work; dead now: 2\n");
    const delayed = await type(api, ["redrive", "work", "--max", "1", "--delay", "1h", "--json"]);
    expect(delayed.lines).toEqual([{ redriven: 1, left: 1 }]);
    const moved = await api.call("GET", `/jobs/${first}`);
    expect(moved.json).toMatchObject({ state: "scheduled", dueAt: "2026-03-01T10:00:03.000Z" });
    expect((await type(api, ["redrive", "work"])).out).toBe("redriven 1 job of work; dead now: 0\n");
    expect((await api.call("GET", `/jobs/${third}`)).json).toMatchObject({ state: "scheduled" });
    expect(await type(api, ["dead", "work"])).toMatchObject({ code: 0, out: "", err: "no dead job\n" });
  });

  test("dead and get lead to the log of a job's runs, if the API knows it", async () => {
    const logs = { region: "eu-central-1", groups: { work: "Work" } };
    await using api = await serveApi(createApi(), { logs: () => logs });
    const [first, second] = [await bury(api, "no bank (pay.ts:3)"), await bury(api, "no")];
    const url = (id: string) =>
      new RegExp(`${id}  https://eu-central-1\\.console.*/Work/log-events.*\\$2522${id}`);
    const { out } = await type(api, ["dead", "work"]);
    const [, one, , empty, ...links] = out.split("\n");
    expect(one).toMatch(/no bank \(pay\.ts:3\)$/);
    expect([empty, links[0], links[1]]).toEqual([
      "",
      expect.stringMatching(url(first)),
      expect.stringMatching(url(second)),
    ]);
    expect((await type(api, ["get", first])).out).toMatch(/^logUrl +https:.*console/m);
    expect((await type(api, ["dead", "work", "--json"])).lines).toMatchObject([
      { id: first, logUrl: expect.any(String) },
      { id: second },
    ]);
  });

  test("redrive ends with 1 if some of many ids were not dead, and starts the dead jobs at the rate", async () => {
    await using api = await serveApi();
    const dead = await bury(api, "one");
    const jobs = Array.from({ length: 500 }, () => ({ topic: "work", body: 1, delay: "1h" }));
    const { json } = await api.call("POST", "/jobs/batch", { body: { jobs } });
    const waiting = (json.results as { job: { id: string } }[]).map(({ job }) => job.id);
    const args = [...waiting, waiting[0] ?? "", dead, "--delay", "1m", "--rate", "10"];
    const { code, out, err } = await type(api, ["redrive", "work", ...args]);
    expect(out).toBe("redriven 1 job of work; dead now: 0\n");
    expect(err).toBe(
      "minutehand: 500 of 501 jobs were not redriven: they are not dead, or their keys name other jobs\n",
    );
    expect(code).toBe(1);
    // A minute, and fifty seconds for the starts before it.
    const { dueAt } = (await api.call("GET", `/jobs/${dead}`)).json;
    expect(dueAt).toBe("2026-03-01T09:01:51.000Z");
  });

  test("redrive --if-match redrives a job only as the user saw it dead", async () => {
    await using api = await serveApi();
    const dead = await bury(api, "one");
    const { revision } = (await api.call("GET", `/jobs/${dead}`)).json;
    const redrive = (...args: unknown[]) => type(api, ["redrive", "work", ...args.map(String)]);
    expect(await redrive(dead, "--if-match", Number(revision) + 1)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`it has revision ${revision} now`),
    });
    for (const args of [[], ["--max", 1], ["--tag", "t"], [dead, "01KJMBQDE001HA2ZQ31MBWX213"]])
      expect(await redrive(...args, "--if-match", 1)).toMatchObject({
        code: 2,
        err: expect.stringContaining("for one job only"),
      });
    expect(await redrive(dead, "--if-match", revision)).toMatchObject({
      code: 0,
      out: "redriven 1 job of work; dead now: 0\n",
    });
  });

  test("dismiss cancels the named jobs, says why another was left, and repeats are harmless", async () => {
    await using api = await serveApi();
    const [first, second] = [await bury(api, "one"), await bury(api, "two")];
    const filed = await api.call("POST", "/jobs", { body: { topic: "work", body: 1, delay: "1h" } });
    const waiting = String(filed.json.id);
    const named = await type(api, ["dismiss", "work", first, waiting, "--reason", "bad data"]);
    expect(named).toMatchObject({ code: 1, out: "dismissed 1 job of work; 1 left\n" });
    expect(named.err).toBe(
      `${waiting}: job ${waiting} is scheduled, and only a dead job can be dismissed\n` +
        "minutehand: 1 of 2 jobs were not dismissed\n",
    );
    const { json } = await api.call("GET", `/jobs/${first}`);
    expect(json).toMatchObject({ state: "cancelled" });
    expect((json.timeline as object[]).slice(-2)).toMatchObject([
      { event: "dead", error: "one" },
      { event: "cancelled", by: { kind: "caller", reason: "bad data" } },
    ]);
    expect(await type(api, ["dismiss", "work", first])).toMatchObject({
      code: 0,
      out: "dismissed 1 job of work; 1 left\n",
    });
    expect((await type(api, ["dead", "work", "--json"])).lines).toMatchObject([{ id: second }]);
    expect((await type(api, ["dismiss", "work", second, "--if-match", "9"])).err).toContain(
      "it has revision 0 now",
    );
    expect(await type(api, ["dismiss", "work", second, "--if-match", "0"])).toMatchObject({ code: 0 });
  });

  test.each([
    [[]],
    [["--yes"]],
    [["01KJMF8S00G00000000000000A", "--all"]],
    [["01KJMF8S00G00000000000000A", "--dry-run"]],
    [["--all", "--tag", "t"]],
  ])("dismiss refuses %j", async (args) => {
    expect(await type(undefined, ["dismiss", "work", ...args])).toMatchObject({
      code: 2,
      err: expect.stringContaining("name the dead jobs in one way: give ids, or --all, or filters"),
    });
  });

  test("redrive prints what its first call has done if the second call is refused", async () => {
    await using api = await serveApi();
    const dead = await bury(api, "one");
    const jobs = Array.from({ length: 499 }, () => ({ topic: "work", body: 1, delay: "1h" }));
    const { json } = await api.call("POST", "/jobs/batch", { body: { jobs } });
    const waiting = (json.results as { job: { id: string } }[]).map(({ job }) => job.id);
    const nobody = "01KJMBQDE001HA2ZQ31MBWX213";
    expect(await type(api, ["redrive", "work", dead, ...waiting, nobody])).toMatchObject({
      code: 1,
      out: "redriven 1 job of work; dead now: 0\n",
      err: `minutehand: topic work has no job ${nobody}\n`,
    });
  });

  test.each([
    [999, "999"],
    [1000, "1,000 or more"],
  ])("print the number %i as %s", (count, said) => {
    expect(counted(count)).toBe(said);
  });

  test.each([
    [["01KJMBQDE001HA2ZQ31MBWX213", "--max", "5"]],
    [["01KJMBQDE001HA2ZQ31MBWX213", "--tag", "t"]],
    [["--max", "5", "--yes"]],
  ])("redrive refuses %j", async (args) => {
    expect(await type(undefined, ["redrive", "work", ...args])).toMatchObject({
      code: 2,
      err: "minutehand: name the dead jobs in one way: give ids, or --max, or filters\n",
    });
  });
});

describe("pause and resume", () => {
  test("pause a topic, show the pause, and resume the topic", async () => {
    await using api = await serveApi();
    const paused = await type(api, ["pause", "orders"]);
    expect(paused.out).toBe("orders is paused since 2026-03-01T09:00:00.000Z\n");
    await api.file({ delay: "1m" });
    await api.world.pass(3 * MINUTE);
    expect((await type(api, ["topics", "orders"])).out).toMatch(/PAUSE\norders .* paused, 1 parked\n$/);
    const resumed = await type(api, ["resume", "orders", "--rate", "10"]);
    expect(resumed).toMatchObject({ code: 0, out: "orders is resumed: 1 job released\n" });
    const { out } = await type(api, ["topics", "orders"]);
    expect(out).toMatch(/PAUSE\norders .* resumed at 10 a second; no job is parked\n$/);
    expect((await type(api, ["pause", "orders", "--json"])).lines).toMatchObject([{ state: "paused" }]);
    expect((await type(api, ["resume", "orders", "--json"])).lines).toMatchObject([{ released: 0, left: 0 }]);
  });
});

describe("schedules", () => {
  const put = ["schedules", "put", "daily", "--topic", "orders", "--expression", "cron(0 10 * * ? *)"];

  test.each([
    ["0 9 * * 1-5", "Europe/Berlin", "Mon 2 Mar 2026 09:00, Tue 3 Mar 2026 09:00, Wed 4 Mar 2026 09:00"],
    ["0 2 29 2 *", "UTC", "Tue 29 Feb 2028 02:00, Sun 29 Feb 2032 02:00, Fri 29 Feb 2036 02:00"],
    ["at(2026-03-29T01:30:00)", "America/New_York", "Sun 29 Mar 2026 01:30"],
    ["rate(90 minutes)", "UTC", "Sun 1 Mar 2026 09:01, Sun 1 Mar 2026 10:31, Sun 1 Mar 2026 12:01"],
  ])("say when %s comes by the clock of %s", async (expression, zone, said) => {
    await using api = await serveApi();
    const asked = ["--topic", "orders", "--expression", expression, "--timezone", zone, "--body", "1"];
    const { out } = await type(api, ["schedules", "put", "x", ...asked]);
    expect(/^by its clock +(.*)$/m.exec(out)?.[1]).toBe(said);
  });

  test("are put, listed, shown, paused, resumed, run and removed", async () => {
    await using api = await serveApi();
    const options = "--timezone Europe/Berlin --flexible-window 15m --tag t --header a=b";
    const made = await type(api, [...put, ...options.split(" "), "--body", '{"n": 1}', "--json"]);
    expect(made.code).toBe(0);
    expect(made.lines).toMatchObject([
      {
        name: "daily",
        timezone: "Europe/Berlin",
        flexibleWindow: 900,
        tag: "t",
        headers: { a: "b" },
        body: { n: 1 },
      },
    ]);
    expect((await type(api, ["schedules"])).out).toBe(
      [
        "NAME   TOPIC   EXPRESSION          ZONE           NEXT                      BY ITS CLOCK",
        "daily  orders  cron(0 10 * * ? *)  Europe/Berlin  2026-03-02T09:00:00.000Z  Mon 2 Mar 2026 10:00, Tue 3 Mar 2026 10:00, Wed 4 Mar 2026 10:00",
        "",
      ].join("\n"),
    );
    const shown = await type(api, ["schedules", "get", "daily"]);
    expect(shown.out).toMatch(/^next +2026-03-02T09:00:00.000Z, 2026-03-03/m);
    expect(shown.out).toMatch(/^by its clock +Mon 2 Mar 2026 10:00, Tue 3 Mar 2026 10:00, Wed 4 Mar/m);
    expect(shown.out).toMatch(/\n\n\{\n {2}"n": 1\n\}\n$/);
    await type(api, ["schedules", "pause", "daily"]);
    expect((await type(api, ["schedules", "list"])).out).toMatch(/Berlin {2}paused\n$/);
    expect((await type(api, ["schedules", "resume", "daily", "--json"])).lines).toMatchObject([
      { paused: false },
    ]);
    await type(api, ["schedules", "pause", "daily"]);
    await api.world.pass(26 * 3_600_000, { ticks: false });
    expect((await type(api, ["schedules", "resume", "daily"])).out).toMatch(/^skippedInPause +1$/m);
    const run = await type(api, ["schedules", "run", "daily"]);
    expect(run.out).toMatch(/^created \S+ of orders: due 2026-03-02T11:00:00.000Z\n$/);
    expect((await type(api, ["schedules", "remove", "daily"])).out).toBe("daily is removed\n");
    expect(await type(api, ["schedules", "list"])).toMatchObject({ code: 0, out: "", err: "no schedule\n" });
    expect(await type(api, ["schedules", "show", "daily"])).toMatchObject({ code: 1 });
  });

  test("need a body and an expression", async () => {
    expect((await type(undefined, put)).err).toBe(
      "minutehand: required option '--body <json>' not specified\n",
    );
  });
});
