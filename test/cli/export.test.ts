import { appendFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Schedule } from "../../src/core/occurrence.ts";
import { createApi, type Json } from "../support/api.ts";
import { createWorld, HOUR } from "../support/world.ts";
import { type } from "./command-line.ts";
import { type ServedApi, serveApi } from "./served-api.ts";

const RANGE = ["--from", "2026-03-01T00:00:00Z", "--to", "2026-03-03T00:00:00Z"];

async function newFile(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), "export-")), "shop.jsonl");
}

type Write = (schedule: Schedule, from: number | undefined) => Promise<string>;
type Line = { job?: Json; schedule?: Json; export?: Json; reached?: string; complete?: string };

function linesIn(file: string): Line[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

function jobsIn(file: string): Json[] {
  return linesIn(file).flatMap(({ job }) => (job === undefined ? [] : [job]));
}

function exported(api: ServedApi, file: string, ...more: string[]) {
  return type(api, ["export", file, ...RANGE, ...more]);
}

function imported(api: ServedApi, file: string, ...more: string[]) {
  return type(api, ["import", file, "--yes", ...more]);
}

/** The jobs of `RANGE`. */
async function listed(api: ServedApi): Promise<Json[]> {
  return (await type(api, ["list", ...RANGE, "--limit", "1000", "--json"])).lines as Json[];
}

const SCHEDULE = {
  expression: "cron(0 9 * * ? *)",
  timezone: "Europe/Berlin",
  topic: "orders",
  body: 1,
  spread: 60,
};

const OPTIONS = {
  key: "k1",
  tag: "sale",
  group: "shop-9",
  headers: { a: "b" },
  maxAttempts: 7,
  expiresAfter: 7200,
};

/** Presses Ctrl-C when the command waits, which then waits for ever. */
async function interruptAtOnce(_: number, interrupt: () => void): Promise<void> {
  interrupt();
  return new Promise<void>(() => {});
}

/** Files a job of each state that the API in memory can give a job. */
async function fileOfEachState(api: ServedApi): Promise<void> {
  await api.file({ ...OPTIONS, body: { text: "two\u2028lines" }, dueAt: "2026-03-02T10:00:00.123Z" });
  const { id } = await api.file({ delay: "2h" });
  await api.call("DELETE", `/jobs/${id}`);
  await api.bury();
  await api.file({ topic: "work", delay: 0 });
  await api.receive();
}

describe("export", () => {
  test("writes jobs of any state with their bodies, and the schedules", async () => {
    await using api = await serveApi();
    await fileOfEachState(api);
    await api.call("PUT", "/schedules/daily", { body: SCHEDULE });
    const file = await newFile();
    const { code, out, err } = await exported(api, file);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/ has 4 jobs due from 2026-03-01T00:00:00.000Z to .*, and 1 schedule\n$/);
    const lines = linesIn(file);
    expect(lines[0]).toMatchObject({ export: { version: 1, url: api.url } });
    expect(lines[1]).toMatchObject({ schedule: { name: "daily", ...SCHEDULE } });
    expect(lines.at(-1)).toEqual({ complete: "2026-03-01T09:00:00.000Z" });
    const jobs = jobsIn(file);
    expect(jobs.map(({ state }) => state).sort()).toEqual(["cancelled", "dead", "running", "scheduled"]);
    const keyed = jobs.find(({ key }) => key === "k1");
    expect(keyed).toMatchObject({
      ...OPTIONS,
      body: { text: "two\u2028lines" },
      dueAt: "2026-03-02T10:00:00.123Z",
    });
    expect(readFileSync(file, "utf8")).not.toContain("\u2028");
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("writes only the jobs of a state, and only the jobs and schedules of a topic", async () => {
    await using api = await serveApi();
    await fileOfEachState(api);
    await api.call("PUT", "/schedules/daily", { body: SCHEDULE });
    const [waiting, ofWork] = [await newFile(), await newFile()];
    await exported(api, waiting, "--state", "scheduled");
    expect(jobsIn(waiting)).toMatchObject([{ state: "scheduled" }]);
    await exported(api, ofWork, "--topic", "work");
    expect(jobsIn(ofWork).map(({ topic }) => topic)).toEqual(["work", "work"]);
    expect(linesIn(ofWork).some((line) => line.schedule)).toBe(false);
  });

  test("covers more days than one list", async () => {
    await using api = await serveApi(createApi(createWorld({ shards: 1 })));
    await api.file({ delay: "34d" });
    const file = await newFile();
    await type(api, ["export", file, "--to", "2026-04-05T00:00:00Z"]);
    expect(jobsIn(file)).toMatchObject([{ dueAt: "2026-04-04T09:00:00.000Z" }]);
  });

  test("has jobs of any time by default, with few calls", async () => {
    await using api = await serveApi();
    const times = ["2026-03-01T09:00:00.000Z", "2026-03-01T12:00:00.000Z", "2034-12-31T23:59:00.000Z"];
    for (const dueAt of times) await api.world.file({ dueAt: Date.parse(dueAt) });
    const file = await newFile();
    const before = api.authorizations.length;
    const { out } = await type(api, ["export", file]);
    expect(out).toBe(`${file} has 3 jobs and 0 schedules\n`);
    expect(
      jobsIn(file)
        .map(({ dueAt }) => dueAt)
        .sort(),
    ).toEqual(times);
    expect(api.authorizations.length - before).toBeLessThan(6);
    expect((await type(api, ["export", file, "--from", times[0] ?? ""])).err).toContain(
      `is an export of from (all), and not of ${times[0]}: give another file`,
    );
  });

  test("leaves out what cannot be read, says so, and ends with exit code 1", async () => {
    await using api = await serveApi();
    const [newer, noJson] = [await api.world.file({ delay: HOUR }), await api.world.file({ delay: HOUR })];
    await api.file({ delay: "1h", body: "fine" });
    api.world.pool.put({ ...newer, v: 99 });
    api.world.pool.put({ ...noJson, body: "{" });
    await api.call("PUT", "/schedules/daily", { body: SCHEDULE });
    const file = await newFile();
    const { code, err } = await exported(api, file);
    expect(code).toBe(1);
    expect(err.split("\n")).toHaveLength(4);
    expect(err).toContain(`left out: job ${newer.id} cannot be read: its layout is version 99`);
    expect(err).toContain(`left out: job ${noJson.id} cannot be read: its body is not JSON`);
    expect(err).toMatch(/\nminutehand: left out 2 that cannot be read\n$/);
    expect(jobsIn(file)).toMatchObject([{ body: "fine" }]);
    expect(linesIn(file).at(-1)).toHaveProperty("complete");
  });

  test("reads at most so many jobs a second as --rate says", async () => {
    await using api = await serveApi();
    for (let i = 0; i < 5; i++) await api.file();
    const waits: number[] = [];
    const wait = (ms: number): void => void waits.push(ms);
    await type(api, ["export", await newFile(), ...RANGE, "--rate", "2"], { wait });
    expect(waits).toEqual([1000, 1000, 500]);
  });

  test("also counts jobs that it leaves out because of --topic or --state as read", async () => {
    await using api = await serveApi();
    for (let i = 0; i < 5; i++) await api.file();
    const waits: number[] = [];
    const wait = (ms: number): void => void waits.push(ms);
    for (const only of [
      ["--topic", "work"],
      ["--state", "dead"],
    ])
      await type(api, ["export", await newFile(), ...RANGE, "--rate", "2", ...only], { wait });
    expect(waits).toEqual([2500, 2500]);
  });
});

describe("an export that was interrupted", () => {
  /** Files `count` jobs, one due each minute. */
  async function fileMany({ call }: ServedApi, count: number): Promise<void> {
    const jobs = Array.from({ length: count }, (_, i) => ({
      topic: "orders",
      body: i,
      delay: 3600 + 60 * i,
    }));
    await call("POST", "/jobs/batch", { body: { jobs } });
  }

  test("goes on where it ended, at whatever byte it was cut off, and writes no job twice", async () => {
    await using api = await serveApi();
    await fileMany(api, 45);
    await api.call("PUT", "/schedules/daily", { body: SCHEDULE });
    const file = await newFile();
    await exported(api, file);
    const whole = readFileSync(file);
    const first = whole.indexOf("\n") + 1;
    for (const end of [first, first + 30, Math.floor(whole.length / 2), whole.length - 1]) {
      truncateSync(file, 0);
      writeFileSync(file, whole.subarray(0, end));
      const { code, out } = await exported(api, file);
      expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/ 45 jobs due .* 1 schedule\n$/) });
      const bodies = jobsIn(file).map(({ body }) => Number(body));
      expect(bodies.sort((a, b) => a - b)).toEqual(Array.from({ length: 45 }, (_, i) => i));
      expect(linesIn(file).filter((line) => line.schedule)).toHaveLength(1);
    }
  });

  test("does not read again what it has written, and keeps its range without the flags", async () => {
    await using api = await serveApi();
    await fileMany(api, 9);
    const file = await newFile();
    await exported(api, file, "--rate", "1");
    const first = api.authorizations.length;
    const lines = readFileSync(file, "utf8").split("\n");
    const at = lines.findLastIndex((line) => line.includes("reached"));
    writeFileSync(file, `${lines.slice(0, at + 1).join("\n")}\n`);
    await api.world.pass(HOUR);
    const before = api.authorizations.length;
    const { out } = await type(api, ["export", file, "--rate", "1"]);
    expect(out).toMatch(/ has 9 jobs due .* to 2026-03-03T00:00:00.000Z/);
    expect(api.authorizations.length - before).toBeLessThan(first / 2);
  });

  test("says at Ctrl-C how it goes on", async () => {
    await using api = await serveApi();
    await fileMany(api, 3);
    const file = await newFile();
    const { code, err } = await type(api, ["export", file, ...RANGE], { wait: interruptAtOnce });
    expect({ code, err }).toEqual({ code: 130, err: "to continue, start the same command again\n" });
    expect(linesIn(file).at(-1)).not.toHaveProperty("complete");
    expect((await exported(api, file)).code).toBe(0);
    expect(jobsIn(file)).toHaveLength(3);
  });
});

describe("a file of an export", () => {
  test("that is complete gets the jobs that it lacks", async () => {
    await using api = await serveApi();
    await api.file({ body: "first" });
    const file = await newFile();
    await exported(api, file);
    await api.file({ body: "second", dueAt: "2026-03-01T09:30:00Z" });
    const { err } = await exported(api, file);
    expect(err).toBe(`${file} is complete: adding the jobs and schedules that it lacks\n`);
    expect(jobsIn(file).map(({ body }) => body)).toEqual(["first", "second"]);
  });

  test("has a job once that is moved to a later time during the export", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ delay: "1h" });
    await api.file({ delay: "2h" });
    const file = await newFile();
    const { code } = await type(api, ["export", file, ...RANGE, "--rate", "1"], {
      wait: async () => {
        const { json } = await api.call("GET", `/jobs/${id}`);
        if (json.revision === 0) await api.call("PATCH", `/jobs/${id}`, { body: { delay: "20h" } });
      },
    });
    expect({ code, jobs: jobsIn(file).length }).toEqual({ code: 0, jobs: 2 });
  });

  test("is left alone if it is something else, or an export of something else", async () => {
    await using api = await serveApi();
    const file = await newFile();
    for (const text of ["my notes", "my notes\n", '{"job": {}}\n']) {
      writeFileSync(file, text);
      const ended = await exported(api, file);
      expect(ended).toMatchObject({
        code: 2,
        err: expect.stringContaining("is not an export of this command"),
      });
      expect(readFileSync(file, "utf8")).toBe(text);
    }
    const other = await newFile();
    await exported(api, other);
    const before = readFileSync(other, "utf8");
    expect(await exported(api, other, "--topic", "work")).toMatchObject({
      code: 2,
      err: `minutehand: ${other} is an export of topic (all), and not of work: give another file\n`,
    });
    await using second = await serveApi();
    expect((await exported(second, other)).err).toContain(
      `is an export of url ${api.url}, and not of ${second.url}`,
    );
    expect(readFileSync(other, "utf8")).toBe(before);
  });
});

describe("import", () => {
  test("files the waiting jobs with all that can be kept, and a repeat files nothing", async () => {
    await using api = await serveApi();
    await fileOfEachState(api);
    await api.file({ topic: "work", dueAt: "2026-03-01T08:00:00Z", body: "late" });
    const file = await newFile();
    await exported(api, file);
    await using target = await serveApi();
    const first = await imported(target, file);
    expect(first).toMatchObject({
      code: 0,
      out: "filed 2 jobs; put 0 schedules\n",
      err: expect.stringMatching(/^left out: 1 dead\n|^left out: 1 cancelled\n/m),
    });
    const { json } = await target.call("GET", "/topics/orders/jobs/k1");
    expect(json).toMatchObject({
      ...{ ...OPTIONS, topic: "orders", state: "scheduled", attempt: 0 },
      ...{ body: { text: "two\u2028lines" }, dueAt: "2026-03-02T10:00:00.123Z" },
    });
    const { json: pulled } = await target.call("POST", "/topics/work/receive");
    expect(pulled.jobs).toMatchObject([{ body: "late" }]);
    expect((await imported(target, file)).out).toBe(
      "filed 0 jobs, 2 jobs had been filed before; put 0 schedules\n",
    );
    expect(await listed(target)).toHaveLength(2);
  });

  test("adds no spread of the topic to the time of a job", async () => {
    await using api = await serveApi();
    await api.file({ dueAt: "2026-03-01T12:00:00Z" });
    const file = await newFile();
    await exported(api, file);
    const topics = { orders: { spread: 3600 }, work: {} };
    await using target = await serveApi(createApi(createWorld({ topics })));
    await imported(target, file);
    expect(await listed(target)).toMatchObject([{ dueAt: "2026-03-01T12:00:00.000Z" }]);
  });

  test("that crashed in the middle is repeated, and each job is filed once", async () => {
    await using api = await serveApi();
    const jobs = Array.from({ length: 50 }, (_, i) => ({ topic: "orders", body: i, delay: 3600 + i }));
    await api.call("POST", "/jobs/batch", { body: { jobs } });
    const file = await newFile();
    await exported(api, file);
    await using target = await serveApi();
    const crashed = await type(target, ["import", file, "--yes"], { wait: interruptAtOnce });
    expect(crashed).toMatchObject({ code: 130, err: "to continue, start the same command again\n" });
    expect(await listed(target)).toHaveLength(20);
    const { code, out } = await imported(target, file);
    expect({ code, out }).toEqual({
      code: 0,
      out: "filed 30 jobs, 20 jobs had been filed before; put 0 schedules\n",
    });
    expect(await listed(target)).toHaveLength(50);
  });

  test("names the line of each job that is refused, and files the others", async () => {
    await using api = await serveApi();
    await api.file({ key: "taken" });
    await api.file({ topic: "work" });
    await api.file({ body: "fine", dueAt: "2026-03-01T12:00:00Z" });
    const file = await newFile();
    await exported(api, file);
    appendFileSync(file, '{"job": {"id": 1}}\nno JSON\n{"other": 1}\n');
    await using target = await serveApi(createApi(createWorld({ topics: { orders: {} } })));
    await target.file({ key: "taken" });
    const counted = await type(target, ["import", file, "--dry-run"]);
    expect(counted.out).toContain(
      "; the import refuses those whose key another job has there, which a dry run does not look up\n",
    );
    const { code, out, err } = await imported(target, file);
    expect(out).toBe("filed 1 job; put 0 schedules\n");
    expect(err).toMatch(
      /^line \d+: job\.id: .*\nline \d+: it must be JSON: .*\nline \d+: it must be an object/,
    );
    expect(err).toMatch(/^the file is not a complete export: see its last line$/m);
    expect(err).toMatch(/^there is no topic work: 1 job will be refused$/m);
    expect(err).toMatch(/^line \d+: .*taken.*$/m);
    expect(err).toMatch(/minutehand: 5 lines not imported\n$/);
    expect(code).toBe(1);
  });

  test("refuses a file that is no export in one sentence, and takes a part of an export", async () => {
    await using api = await serveApi();
    await api.file({ body: "fine", dueAt: "2026-03-01T12:00:00Z" });
    const [whole, part, other] = [await newFile(), await newFile(), await newFile()];
    await exported(api, whole);
    writeFileSync(part, `${readFileSync(whole, "utf8").split("\n")[1]}\n`);
    writeFileSync(other, '{"topic": "orders", "body": 1}\n'.repeat(170));
    await using target = await serveApi();
    const { code, err } = await imported(target, other);
    expect({ code, err }).toEqual({
      code: 2,
      err: `minutehand: ${other} is not a file of "minutehand export", because none of its lines can be imported. Line 1: it must be an object with the field job or schedule\n`,
    });
    expect(await imported(target, part)).toMatchObject({ code: 0, out: "filed 1 job; put 0 schedules\n" });
  });

  test("puts schedules, paused ones too without an occurrence before the pause, and leaves declared ones to their stack", async () => {
    await using api = await serveApi();
    await api.call("PUT", "/schedules/daily", { body: SCHEDULE });
    const minutely = { expression: "rate(1 minute)", topic: "orders", body: 2, end: "2026-04-01T00:00:00Z" };
    await api.call("PUT", "/schedules/paused", { body: minutely });
    await api.call("POST", "/schedules/paused/pause");
    const file = await newFile();
    await exported(api, file);
    const lines = readFileSync(file, "utf8").replace(
      '"name":"daily"',
      '"declared":"Shop/Jobs","name":"daily"',
    );
    await using target = await serveApi();
    const { schedules } = target.world;
    const stored: Pick<Schedule, "expression" | "paused">[] = [];
    for (const name of ["create", "update"] as const) {
      const write: Write = schedules[name];
      schedules[name] = async (schedule: Schedule, from: number | undefined) => {
        stored.push(schedule);
        return (await write(schedule, from)) as never;
      };
    }
    for (const out of ["filed 0 jobs; put 2 schedules\n", "filed 0 jobs; put 2 schedules\n"])
      expect(await imported(target, file)).toMatchObject({ code: 0, out });
    const active = stored.filter(({ paused }) => !paused).map(({ expression }) => expression);
    expect(active).not.toContain("rate(1 minute)");
    const { json } = await target.call("GET", "/schedules/daily");
    expect(json).toMatchObject({ ...SCHEDULE, paused: false });
    const paused = (await target.call("GET", "/schedules/paused")).json;
    expect(paused).toMatchObject({ ...minutely, end: "2026-04-01T00:00:00.000Z", paused: true });
    writeFileSync(file, lines);
    await using third = await serveApi();
    expect(await imported(third, file)).toMatchObject({
      out: "filed 0 jobs; put 1 schedule\n",
      err: expect.stringContaining("left out: 1 declared schedules\n"),
    });
  });

  test("files jobs of other states if they are asked for", async () => {
    await using api = await serveApi();
    await fileOfEachState(api);
    const file = await newFile();
    await exported(api, file);
    await using target = await serveApi();
    const { out } = await imported(target, file, "--state", "running", "--state", "dead");
    expect(out).toBe("filed 2 jobs; put 0 schedules\n");
    expect((await imported(target, file, "--state", "nope")).err).toMatch(
      /It must be one of scheduled, running/,
    );
  });

  test("says that the jobs will be there twice, if the queue itself has made the file", async () => {
    await using api = await serveApi();
    await api.call("POST", "/jobs", { body: { topic: "orders", body: 1, delay: "1h" } });
    const file = await newFile();
    await exported(api, file);
    const { err } = await type(api, ["import", file, "--dry-run"]);
    expect(err).toContain("this queue has made the file: each waiting job without a key will be there twice");
    await using other = await serveApi();
    expect((await type(other, ["import", file, "--dry-run"])).err).not.toContain("twice");
  });

  test("changes nothing in a dry run, and without a yes", async () => {
    await using api = await serveApi();
    await fileOfEachState(api);
    const file = await newFile();
    await exported(api, file);
    await using target = await serveApi();
    const dry = await type(target, ["import", file, "--dry-run", "--json"]);
    expect(dry.lines).toEqual([{ dryRun: true, jobs: 1, schedules: 0, leftOut: 3, wrong: 0 }]);
    expect(await type(target, ["import", file])).toMatchObject({
      code: 2,
      err: "minutehand: this command would file jobs: confirm with --yes, or count them first with --dry-run\n",
    });
    expect(await type(target, ["import", file], { terminal: true, input: "n\n" })).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /file 1 job and put 0 schedules in .*\? \[y\/N\] minutehand: nothing was imported\n$/,
      ),
    });
    const noText = await newFile();
    writeFileSync(noText, Buffer.from('{"job": {"body": "\xfc"}}\n', "latin1"));
    expect(await imported(target, noText)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/ cannot be read: .* not valid for encoding utf-8\n$/),
    });
    expect(await type(target, ["import", `${file}x`, "--yes"])).toMatchObject({
      code: 2,
      err: `minutehand: there is no file ${file}x\n`,
    });
    expect(await listed(target)).toEqual([]);
  });

  test("says that a repeat files the jobs of an untracked topic again", async () => {
    await using api = await serveApi();
    await api.file({ topic: "events" });
    const file = await newFile();
    await exported(api, file);
    await using target = await serveApi();
    expect((await imported(target, file)).err).toContain(
      "topic events is untracked: a repeat files its 1 job again\n",
    );
  });
});
