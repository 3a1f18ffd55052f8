import { writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { KEY_RULE } from "../../src/core/job-key.ts";
import { SIZES } from "../../src/core/work-sizes.ts";
import type { JobJson } from "../../src/http/answers/jobs.ts";
import { createApi } from "../support/api.ts";
import { createWorld, HOUR, MINUTE } from "../support/world.ts";
import { type } from "./command-line.ts";
import { serveApi } from "./served-api.ts";

const MISSING = "01KJMBQDE001HA2ZQ31MBWX213";

describe("enqueue", () => {
  test("files a job, and prints its id and when it is due", async () => {
    await using api = await serveApi();
    const args = ["enqueue", "orders", "--delay", "30m", "--key", "order-17", "--body", '{"n": 1}'];
    const { code, out, err } = await type(api, args);
    const { json } = await api.call("GET", "/topics/orders/jobs/order-17");
    expect(json).toMatchObject({ body: { n: 1 }, dueAt: "2026-03-01T09:30:00.000Z" });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toBe(`created ${json.id} (order-17) of orders: due 2026-03-01T09:30:00.000Z\n`);
  });

  test("passes every option on to the API", async () => {
    await using api = await serveApi();
    const options = [
      ...["--due-at", "2026-03-01T12:00:00+01:00", "--key", "k", "--on-duplicate", "replace", "--tag", "t"],
      ...[
        "--header",
        "a=b",
        "--header",
        "c=d=e",
        "--expires-after",
        "90",
        "--max-attempts",
        "7",
        "--group",
        "g",
      ],
    ];
    const { code, lines } = await type(api, ["enqueue", "orders", ...options, "--body", "[]", "--json"]);
    expect(code).toBe(0);
    expect(lines).toMatchObject([
      {
        ...{ dueAt: "2026-03-01T11:00:00.000Z", key: "k", outcome: "created", tag: "t", group: "g" },
        ...{ headers: { a: "b", c: "d=e" }, expiresAfter: 90, maxAttempts: 7, body: [] },
      },
    ]);
  });

  test("postpones the job of a key, at most by --max-delay", async () => {
    await using api = await serveApi();
    const options = ["--key", "k", "--on-duplicate", "postpone", "--max-delay", "10m", "--body", "1"];
    await type(api, ["enqueue", "orders", "--delay", "5m", ...options]);
    const { out } = await type(api, ["enqueue", "orders", "--delay", "30m", ...options]);
    expect(out).toMatch(/^postponed \S+ \(k\) of orders: due 2026-03-01T09:10:00.000Z\n$/);
  });

  test("takes its body from a file or from stdin", async () => {
    await using api = await serveApi();
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    const file = join(folder.path, "body.json");
    writeFileSync(file, '{"from": "file"}');
    const enqueue = ["enqueue", "orders", "--delay", "1h", "--json", "--body"];
    expect((await type(api, [...enqueue, `@${file}`])).lines).toMatchObject([{ body: { from: "file" } }]);
    const piped = await type(api, [...enqueue, "-"], { input: '{"from": "stdin"}' });
    expect(piped.lines).toMatchObject([{ body: { from: "stdin" } }]);
  });

  test.each([
    ["hello", /^minutehand: --body must be JSON, @file, or - to read stdin: .*Unexpected token/],
    ["@/no/such/file", /^minutehand: --body must be JSON, @file, or - to read stdin: ENOENT/],
    ["0.1234567890123456789", /a number must be one that a double prints with at most 17 digits/],
    ["-", /--body must be JSON/],
  ])("refuses the body %s before it calls the API", async (body, message) => {
    const args = ["enqueue", "orders", "--delay", "1h", "--body", body];
    const { code, out, err } = await type(undefined, args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(message);
    expect(err.trimEnd()).not.toContain("\n");
  });

  test("refuses bytes that are no UTF-8 rather than altering them", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "minutehand-"));
    const file = join(folder.path, "body.json");
    writeFileSync(file, Buffer.from([0x22, 0xff, 0x22]));
    const args = ["enqueue", "orders", "--delay", "1h", "--body", `@${file}`];
    expect((await type(undefined, args)).code).toBe(2);
  });

  test("prints the API's refusal in one line", async () => {
    await using api = await serveApi();
    const { code, out, err } = await type(api, ["enqueue", "nothing", "--delay", "1h", "--body", "1"]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/^minutehand: .*nothing.*\n$/);
  });
});

describe("get", () => {
  test("says which events of a long life are not stored any more", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ topic: "work", delay: "1h" });
    for (let i = 0; i < 12; i++) await api.call("PATCH", `/jobs/${id}`, { body: { delay: 7200 + i } });
    const { json } = await api.call("GET", `/jobs/${id}`);
    const [filed, oldest] = json.timeline as JobJson["timeline"];
    expect([filed?.event, oldest?.event, json.earlierEventsDropped]).toEqual(["filed", "moved", true]);
    const { out } = await type(api, ["get", String(id)]);
    expect(out).toContain(
      `the events between the filing of the job and ${oldest?.at} are not stored any more`,
    );
  });

  test("shows a job's fields, body and timeline", async () => {
    await using api = await serveApi();
    const { id } = await api.file({
      topic: "work",
      key: "k",
      delay: 0,
      body: { text: "a\u001b[31m\u009bb" },
    });
    await api.call("POST", "/topics/work/receive");
    const { code, out } = await type(api, ["get", String(id)]);
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^id +${id}$`, "m"));
    expect(out).toMatch(/^state +running$/m);
    expect(out).toContain('\n\n{\n  "text": "a\\u001b[31m\\u009bb"\n}\n\n');
    expect(out).toMatch(/^AT +EVENT/m);
    expect(out).toMatch(/^2026-03-01T09:00:00.000Z {2}claimed/m);
    const byKey = await type(api, ["get", "--topic", "work", "--key", "k", "--json"]);
    expect(byKey.lines).toEqual([(await api.call("GET", `/jobs/${id}`)).json]);
    // The JSON has the same value, but no raw control character.
    expect(byKey.out).not.toContain("\u009b");
  });

  test("says first why the job has not run, and not to a program", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ topic: "work", delay: "10m" });
    const later = await type(api, ["get", String(id)]);
    expect(later.err).toBe("It is due later: it starts 2026-03-01T09:10:00.000Z.\n");
    await type(api, ["pause", "work", "--reason", "the bank is down"]);
    const paused = await type(api, ["get", String(id)]);
    expect(paused.err).toMatch(
      /^It is due 2026-03-01T09:10:00.000Z. The topic work has been paused since 2026-03-01T09:00:00.000Z by a caller.*, with the reason "the bank is down", so the job starts after somebody resumes the topic.\n$/,
    );
    const json = await type(api, ["get", String(id), "--json"]);
    expect(json.err).toBe("");
  });

  test("says that the topic of a waiting job is not declared any more", async () => {
    const api = createApi();
    const { id } = await api.file({ topic: "work", delay: "10m" });
    const { work: _, ...topics } = api.world.ctx.policy.topics;
    Object.assign(api.world.ctx.policy, { topics });
    await using served = await serveApi(api);
    const { err } = await type(served, ["get", String(id)]);
    expect(err).toMatch(
      /^The queue has no topic work any more, so the job does not run\. It will be dead an hour after/,
    );
  });

  test.each([[[]], [["--key", "k"]], [["--topic", "work"]], [[MISSING, "--topic", "work", "--key", "k"]]])(
    "refuses arguments that do not name one job: %j",
    async (args) => {
      const { code, err } = await type(undefined, ["get", ...args]);
      expect({ code, err }).toEqual({
        code: 2,
        err: "minutehand: name one job: give an id, or --topic and --key\n",
      });
    },
  );

  test.each(["a/b", "", ".."])("names the rule of keys for the key %j", async (key) => {
    await using api = await serveApi();
    for (const args of [["get"], ["cancel"], ["reschedule", "--delay", "1h"]]) {
      const { code, err } = await type(api, [...args, "--topic", "work", "--key", key]);
      expect({ code, err }).toEqual({
        code: 1,
        err: `minutehand: key ${KEY_RULE}, got ${JSON.stringify(key)}\n`,
      });
    }
  });

  test("fails if the job does not exist", async () => {
    await using api = await serveApi();
    const { code, err } = await type(api, ["get", MISSING, "--json"]);
    expect(code).toBe(1);
    expect(err).toMatch(new RegExp(`^minutehand: .*${MISSING}.*\n$`));
  });
});

const NEXT_HOUR =
  "these are the jobs that are due from 2026-03-01T09:00:00.000Z to 2026-03-01T10:00:00.000Z: see --from and --to";

describe("list", () => {
  test("is a table for people and lines of JSON for programs", async () => {
    await using api = await serveApi();
    const first = await api.file({ delay: "10m", key: "a", tag: "sale" });
    const second = await api.file({ topic: "work", delay: "20m" });
    await api.file({ delay: "2h" });
    const { out } = await type(api, ["list"]);
    expect(out).toBe(
      [
        "DUE                       STATE      TOPIC   ID                          KEY  TAG   ATTEMPT",
        `2026-03-01T09:10:00.000Z  scheduled  orders  ${first.id}  a    sale      0/3`,
        `2026-03-01T09:20:00.000Z  scheduled  work    ${second.id}                0/10`,
        "",
      ].join("\n"),
    );
    const { lines } = await type(api, ["list", "--json", "--to", "2026-03-01T12:00:00Z"]);
    expect(lines).toMatchObject([{ id: first.id }, { id: second.id }, { topic: "orders" }]);
  });

  test("filters jobs, and says if no job matches", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ delay: "10m", tag: "sale", group: "g" });
    await api.file({ delay: "10m" });
    const narrow = ["--topic", "orders", "--tag", "sale", "--group", "g", "--state", "scheduled"];
    expect((await type(api, ["list", "--json", ...narrow])).lines).toMatchObject([{ id }]);
    expect(await type(api, ["list", "--state", "dead"])).toMatchObject({
      code: 0,
      out: "",
      err: "found no job that is due from 2026-03-01T08:00:00.000Z to 2026-03-01T10:00:00.000Z: see --from and --to\n",
    });
    expect(await type(api, ["list", "--state", "dead", "--json"])).toMatchObject({ out: "", err: "" });
  });

  test("finds jobs that have ended within the past hour, or were cancelled before the next one ends", async () => {
    await using api = await serveApi();
    const early = await api.file({ delay: "10m" });
    const late = await api.file({ delay: "80m" });
    await api.call("DELETE", `/jobs/${early.id}`);
    await api.call("DELETE", `/jobs/${late.id}`);
    await api.world.pass(30 * MINUTE);
    const { lines, err } = await type(api, ["list", "--state", "cancelled", "--json"]);
    expect({ lines, err }).toMatchObject({ lines: [{ id: early.id }, { id: late.id }], err: "" });
    const until = ["list", "--state", "cancelled", "--to", "2026-03-01T09:20:00Z"];
    expect((await type(api, [...until, "--json"])).lines).toMatchObject([{ id: early.id }]);
    expect((await type(api, until)).err).toContain(
      "from 2026-03-01T08:30:00.000Z to 2026-03-01T09:20:00.000Z",
    );
  });

  test("refuses a range that ends before it begins", async () => {
    await using api = await serveApi();
    for (const [flags, err] of [
      [["--to", "2026-03-01T08:00:00Z"], "--to must be after now, got 2026-03-01T08:00:00.000Z"],
      [
        // Python's str of a time with its zone.
        ["--from", "2026-03-02 09:00:00+01:00", "--to", "2026-03-01T08:00:00Z"],
        "--to must be after --from 2026-03-02T08:00:00.000Z, got 2026-03-01T08:00:00.000Z",
      ],
      [
        // Java's toString of a ZonedDateTime.
        ["--from", "2026-03-02T09:00+01:00[Europe/Paris]", "--to", "2026-03-01T08:00:00Z"],
        "--to must be after --from 2026-03-02T08:00:00.000Z, got 2026-03-01T08:00:00.000Z",
      ],
    ] as const)
      for (const command of ["list", "forecast"])
        expect(await type(api, [command, ...flags])).toMatchObject({
          code: 2,
          out: "",
          err: `minutehand: ${err}\n`,
        });
    const many = ["cancel", "--topic", "orders", "--dry-run", "--from", "2026-03-02T08:00:00Z"];
    expect(await type(api, [...many, "--to", "2026-03-01T08:00:00Z"])).toMatchObject({ code: 2 });
  });

  test("reads up to its limit in as few pages as possible, and says if there are more jobs", async () => {
    await using api = await serveApi();
    for (let i = 0; i < 105; i++) await api.file({ delay: `${i}s` });
    const all = await type(api, ["list", "--limit", "1000", "--json"]);
    expect(all.lines).toHaveLength(105);
    expect(all.err).toBe("");
    expect(api.authorizations).toHaveLength(1);
    const some = await type(api, ["list"]);
    expect(some.out.trimEnd().split("\n")).toHaveLength(101);
    expect(some.err).toBe(`there are more than 100 jobs: see --limit, --from and --to\n${NEXT_HOUR}\n`);
    // One page of the list, and the topics, whose late jobs are counted.
    expect(api.authorizations).toHaveLength(3);
  });

  test("without a range says which hour it looked through, and that jobs are late", async () => {
    await using api = await serveApi();
    const first = await api.file({ delay: 60 });
    await api.file({ topic: "work", delay: 120 });
    await api.world.pass(10 * MINUTE, { ticks: false });
    const { err } = await type(api, ["list"]);
    expect(err.split("\n")).toEqual([
      "found no job that is due from 2026-03-01T09:10:00.000Z to 2026-03-01T10:10:00.000Z: see --from and --to",
      `late: 2 jobs should have started and have not: see --from ${first.dueAt}`,
      "",
    ]);
    const narrow = await type(api, ["list", "--topic", "work"]);
    expect(narrow.err).toContain("late: 1 job should have started and has not");
    const begun = await type(api, ["list", "--from", String(first.dueAt)]);
    expect(begun.err).toBe(
      "these are the jobs that are due from 2026-03-01T09:01:00.000Z to 2026-03-01T10:01:00.000Z: see --from and --to\n",
    );
    const both = ["--from", String(first.dueAt), "--to", "2026-03-01T10:00:00Z"];
    expect((await type(api, ["list", ...both])).err).toBe("");
    for (let i = 0; i < 100; i++) await api.file({ delay: 0 });
    await api.world.pass(MINUTE, { ticks: false });
    expect((await type(api, ["list"])).err).toContain("late: 102 jobs");
  });

  test("does not call jobs late that a pause holds", async () => {
    await using api = await serveApi();
    for (const topic of ["orders", "work"]) await api.file({ topic, delay: 60 });
    await api.call("POST", "/topics/work/pause");
    await api.world.pass(10 * MINUTE, { ticks: false });
    expect((await type(api, ["list"])).err).toContain("late: 1 job should have started and has not");
    await api.call("POST", "/topics/orders/pause");
    expect((await type(api, ["list"])).err).not.toContain("late:");
  });

  test("finds late jobs behind a hundred jobs that a pause holds", async () => {
    await using api = await serveApi();
    await api.call("POST", "/topics/work/pause");
    for (let i = 0; i < 100; i++) await api.file({ topic: "work", delay: 60 });
    await api.file({ delay: 61 });
    await api.world.pass(10 * MINUTE, { ticks: false });
    expect((await type(api, ["list"])).err).toContain("late: 1 job should have started and has not");
  });
});

describe("reschedule", () => {
  test("moves a job by id, and by key", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ delay: "1h", key: "k" });
    const byId = await type(api, ["reschedule", String(id), "--delay", "2h", "--json"]);
    expect(byId.lines).toMatchObject([{ id, dueAt: "2026-03-01T11:00:00.000Z", revision: 1 }]);
    const byKey = await type(api, [
      "reschedule",
      "--topic",
      "orders",
      "--key",
      "k",
      "--now",
      "--body",
      "[2]",
    ]);
    expect(byKey.out).toBe(`${id} (k) of orders: due 2026-03-01T09:00:00.000Z\n`);
    expect((await api.call("GET", `/jobs/${id}`)).json).toMatchObject({ body: [2], revision: 2 });
  });

  test("shifts a job from its own time, by id and by key", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ delay: "1h", key: "k" });
    const byKey = await type(api, ["reschedule", "--topic", "orders", "--key", "k", "--shift", "2h"]);
    expect(byKey.out).toBe(`${id} (k) of orders: due 2026-03-01T12:00:00.000Z\n`);
    const byId = await type(api, ["reschedule", String(id), "--shift", "-30m", "--if-match", "1", "--json"]);
    expect(byId.lines).toMatchObject([{ id, dueAt: "2026-03-01T11:30:00.000Z", revision: 2 }]);
    const late = await type(api, ["reschedule", String(id), "--shift", "1h", "--if-match", "1"]);
    expect(late).toMatchObject({ code: 1, out: "" });
  });

  test.each([
    [[MISSING], "one of --delay, --due-at, --shift, --now and --body must be given"],
    [[MISSING, "--now", "--rate", "5"], "--rate must be given for many jobs only, not for one"],
    [
      [MISSING, "--shift", "1h", "--idempotency-key", "k"],
      "--idempotency-key must be given for many jobs only, not for one",
    ],
    [["--topic", "orders"], "one of --delay, --due-at, --shift and --now must be given"],
    [["--topic", "orders", "--body", "1"], "--body must be given for one job only, not for many"],
    [[MISSING, "--topic", "orders", "--now"], "ids must be given without --topic, --key and filters"],
    [["--now"], "name the jobs: give ids, or --topic and --key, or --topic with filters"],
  ])("refuses %j", async (args, message) => {
    const { code, err } = await type(undefined, ["reschedule", ...args]);
    expect({ code, err }).toEqual({ code: 2, err: `minutehand: ${message}\n` });
  });
});

describe("cancel", () => {
  test("cancels by id, and by key", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ delay: "1h" });
    await api.file({ delay: "1h", key: "k" });
    expect((await type(api, ["cancel", String(id)])).out).toBe(`${id} of orders: cancelled\n`);
    const { lines } = await type(api, ["cancel", "--topic", "orders", "--key", "k", "--json"]);
    expect(lines).toMatchObject([{ key: "k", state: "cancelled" }]);
  });

  test("with --if-waiting says what became of one job, and does not fail if it comes too late", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ key: "k" });
    const byKey = ["--topic", "orders", "--key", "k"];
    expect(await type(api, ["cancel", MISSING, "--if-waiting"])).toMatchObject({
      code: 0,
      out: `${MISSING} was not cancelled: not-found\n`,
    });
    const { out } = await type(api, ["cancel", ...byKey, "--if-waiting"]);
    expect(out).toBe(`${id} (k) of orders: cancelled\n`);
    await api.file({ topic: "work", key: "k", delay: 0 });
    await api.receive();
    const late = ["cancel", "--topic", "work", "--key", "k", "--if-waiting"];
    expect(await type(api, late)).toMatchObject({ code: 0, out: "k was not cancelled: running\n" });
    expect(await type(api, [...late, "--json"])).toMatchObject({ code: 0, lines: [{ outcome: "running" }] });
    const { code, err } = await type(api, ["cancel", MISSING, MISSING, "--if-waiting"]);
    expect(code).toBe(2);
    expect(err).toContain("--if-waiting must be given for one job only");
  });

  test("cancels each of several, and fails if one could not be", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ delay: "1h" });
    const { code, out, err } = await type(api, ["cancel", MISSING, String(id)]);
    expect(out).toBe(`${id} of orders: cancelled\n`);
    expect(err).toMatch(new RegExp(`^${MISSING}: .*\nminutehand: 1 of 2 jobs were not cancelled\n$`));
    expect(code).toBe(1);
  });
});

describe("--if-match", () => {
  test("changes a job only if it has the revision that the user saw", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ key: "k" });
    const byKey = ["--topic", "orders", "--key", "k", "--if-match"];
    expect(await type(api, ["reschedule", String(id), "--body", "1", "--if-match", "0"])).toMatchObject({
      code: 0,
    });
    for (const args of [
      ["reschedule", String(id), "--now", "--if-match", "0"],
      ["reschedule", ...byKey, "0", "--now"],
      ["cancel", String(id), "--if-match", "0"],
      ["cancel", ...byKey, "0"],
    ]) {
      const { code, err } = await type(api, args);
      expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("it has revision 1 now") });
    }
    expect(await type(api, ["cancel", ...byKey, "1"])).toMatchObject({ code: 0 });
  });

  test.each([
    ["cancel", MISSING, MISSING],
    ["cancel", "--topic", "orders", "--yes"],
    ["reschedule", "--topic", "orders", "--now", "--yes"],
  ])("is for one job only: %s %s", async (...args) => {
    await using api = await serveApi();
    const { code, err } = await type(api, [...args, "--if-match", "0"]);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("for one job only") });
  });
});

describe("forecast", () => {
  test("is a chart on a terminal", async () => {
    await using api = await serveApi();
    for (const delay of ["2m", "2m", "4m", "59m"]) await api.file({ delay });
    const { out, err } = await type(api, ["forecast", "--topic", "orders", "--url", api.url], {
      terminal: true,
    });
    const rows = out.trimEnd().split("\n");
    expect(rows).toHaveLength(12);
    expect(rows[0]).toBe(`09:00  3  ${"█".repeat(70)}`);
    expect(rows[1]).toBe("09:05  0");
    expect(rows[11]).toBe(`09:55  1  ${"█".repeat(23)}▍`);
    expect(err).toBe("4 jobs from 2026-03-01T09:00:00.000Z to 2026-03-01T10:00:00.000Z\n");
  });

  test("shows the days of a range of several days, and counts the jobs at both ends of the range", async () => {
    await using api = await serveApi();
    const [from, to] = ["2026-03-01T09:30:00Z", "2026-03-08T09:30:00Z"];
    await api.file({ dueAt: from });
    await api.file({ dueAt: "2026-03-08T09:29:59.999Z" });
    const { out } = await type(api, ["forecast", "--from", from, "--to", to], { terminal: true });
    const rows = out.trimEnd().split("\n");
    expect(rows[0]).toMatch(/^2026-03-01 00:00 {2}1 {2}█+$/);
    expect(rows.at(-1)).toMatch(/^2026-03-08 00:00 {2}1 {2}█+$/);
  });

  test("prints JSON for programs, and a table if there is no terminal", async () => {
    await using api = await serveApi();
    await api.file({ delay: 90 });
    expect((await type(api, ["forecast", "--json"])).lines).toEqual([
      { minute: "2026-03-01T09:01:00.000Z", count: 1 },
    ]);
    const { out } = await type(api, ["forecast"]);
    expect(out).toBe("MINUTE                    JOBS\n2026-03-01T09:01:00.000Z     1\n");
    await api.world.pass(HOUR + MINUTE);
    expect(await type(api, ["forecast"])).toMatchObject({ out: "", err: "no job falls due\n" });
  });

  test("counts all jobs by topic and state, the finished ones too", async () => {
    await using api = await serveApi();
    const range = ["--from", "2026-03-01T09:00:00Z", "--to", "2026-03-08T09:00:00Z", "--by", "state"];
    for (const delay of ["2m", "2m", "70m", "6d"]) await api.file({ delay });
    await type(api, ["cancel", String((await api.file({ delay: "3m" })).id)]);
    await api.file({ topic: "work", delay: "2m" });
    expect((await type(api, ["forecast", ...range])).out).toBe(
      [
        "TOPIC   STATE      JOBS",
        "orders  cancelled     1",
        "orders  scheduled     4",
        "work    scheduled     1",
        "",
      ].join("\n"),
    );
    const { out, err } = await type(api, ["forecast", ...range, "--topic", "work", "--url", api.url], {
      terminal: true,
    });
    expect(out).toContain("work   scheduled     1\n");
    expect(err).toBe("1 job from 2026-03-01T09:00:00.000Z to 2026-03-08T09:00:00.000Z\n");
    expect((await type(api, ["forecast", ...range, "--json"])).lines).toEqual([
      { topic: "orders", state: "cancelled", count: 1 },
      { topic: "orders", state: "scheduled", count: 4 },
      { topic: "work", state: "scheduled", count: 1 },
    ]);
    await api.world.pass(10 * MINUTE, { ticks: false });
    expect((await type(api, ["forecast", ...range, "--topic", "work", "--json"])).lines).toEqual([
      { topic: "work", state: "late", count: 1 },
    ]);
  });

  test("counts by state in each step of time, and adds up the parts of the API", async () => {
    const world = createWorld({}, { ...SIZES, countEntries: 2 });
    await using api = await serveApi(createApi(world));
    for (let i = 0; i < 5; i++) await api.file({ delay: 60 + i });
    await api.file({ delay: "25m" });
    const { lines } = await type(api, ["forecast", "--by", "state", "--step", "10m", "--json"]);
    expect(lines).toEqual([
      { from: "2026-03-01T09:00:00.000Z", topic: "orders", state: "scheduled", count: 5 },
      { from: "2026-03-01T09:20:00.000Z", topic: "orders", state: "scheduled", count: 1 },
    ]);
    expect((await type(api, ["forecast", "--by", "state", "--step", "10m"])).out).toBe(
      [
        "FROM                      TOPIC   STATE      JOBS",
        "2026-03-01T09:00:00.000Z  orders  scheduled     5",
        "2026-03-01T09:20:00.000Z  orders  scheduled     1",
        "",
      ].join("\n"),
    );
  });

  test.each([
    [["--step", "10m"], "--step needs --by state"],
    [
      ["--by", "state", "--step", "100ms"],
      "option '--step <duration>' argument '100ms' is invalid. It must be whole seconds, from 1 to 86400.",
    ],
    [
      ["--by", "state", "--step", "1500ms"],
      "option '--step <duration>' argument '1500ms' is invalid. It must be whole seconds, from 1 to 86400.",
    ],
    [["--by", "day"], "option '--by <what>' argument 'day' is invalid. Allowed choices are state."],
  ])("refuses %j", async (flags, err) => {
    await using api = await serveApi();
    expect(await type(api, ["forecast", ...flags])).toMatchObject({ code: 2, err: `minutehand: ${err}\n` });
  });
});
