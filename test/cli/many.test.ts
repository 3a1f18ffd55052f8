import { describe, expect, test } from "vitest";
import { SECOND, START } from "../support/world.ts";
import { type } from "./command-line.ts";
import { type ServedApi, serveApi } from "./served-api.ts";

const RANGE = "from 2026-03-01T08:00:00.000Z to 2026-03-01T13:00:00.000Z";
const UNTIL = ["--to", "2026-03-01T13:00:00Z"];

async function fileSome(api: ServedApi): Promise<string[]> {
  const ids: string[] = [];
  for (const delay of ["1h", "2h", "3h"]) ids.push(String((await api.file({ delay, tag: "sale" })).id));
  ids.push(String((await api.file({ delay: "1h" })).id));
  return ids;
}

async function jobsIn({ call }: ServedApi, ids: readonly string[]) {
  return Promise.all(ids.map(async (id) => (await call("GET", `/jobs/${id}`)).json));
}

const SALE = ["cancel", "--topic", "orders", "--tag", "sale", ...UNTIL];

describe("many jobs", () => {
  test("are counted by a dry run, and left alone", async () => {
    await using api = await serveApi();
    const ids = await fileSome(api);
    const { code, out } = await type(api, [...SALE, "--dry-run"]);
    expect({ code, out }).toEqual({ code: 0, out: `would cancel 3 jobs of orders due ${RANGE}\n` });
    const whole = await type(api, ["cancel", "--topic", "orders", "--dry-run", "--json"]);
    expect(whole.lines).toMatchObject([
      {
        dryRun: true,
        matched: 4,
        changed: 0,
        from: "2026-03-01T08:00:00.000Z",
        to: "2026-03-02T08:00:00.000Z",
      },
    ]);
    for (const job of await jobsIn(api, ids)) expect(job.state).toBe("scheduled");
  });

  test.each([
    ["y\n", "cancelled", 0, /\[y\/N\] $/],
    ["yes\n", "cancelled", 0, /\[y\/N\] $/],
    ["\n", "scheduled", 1, /\[y\/N\] minutehand: nothing was cancelled\n$/],
    ["", "scheduled", 1, /\[y\/N\] minutehand: nothing was cancelled\n$/],
    ["yesterday\n", "scheduled", 1, /nothing was cancelled\n$/],
  ])("are changed or not, by the answer %j on a terminal", async (input, state, code, said) => {
    await using api = await serveApi();
    const [first = "", , , other = ""] = await fileSome(api);
    const ended = await type(api, SALE, { terminal: true, input });
    expect(ended.code).toBe(code);
    expect(ended.err).toContain(`cancel 3 jobs of orders due ${RANGE}? [y/N] `);
    expect(ended.err).toMatch(said);
    expect(await jobsIn(api, [first, other])).toMatchObject([{ state }, { state: "scheduled" }]);
  });

  test("need no answer if no job matches", async () => {
    await using api = await serveApi();
    const { code, err } = await type(api, ["cancel", "--topic", "orders", ...UNTIL], { terminal: true });
    expect({ code, err }).toMatchObject({
      code: 0,
      err: expect.stringMatching(/there is nothing to do: would cancel 0 jobs/),
    });
    expect(err).not.toContain("[y/N]");
  });

  test("are not changed without --yes if there is no terminal", async () => {
    await using api = await serveApi();
    await fileSome(api);
    expect(await type(api, SALE)).toMatchObject({
      code: 2,
      out: "",
      err: "minutehand: this command would cancel many jobs: confirm with --yes, or count them first with --dry-run\n",
    });
    expect(api.authorizations).toEqual([]);
  });

  test("are changed with --yes by group and range, but running jobs are not changed", async () => {
    await using api = await serveApi();
    const { id } = await api.file({ topic: "work", delay: 0, group: "g" });
    await api.call("POST", "/topics/work/receive");
    const waiting = await api.file({ topic: "work", delay: "1h", group: "g" });
    const late = await api.file({ topic: "work", delay: "3h", group: "g" });
    const args = ["cancel", "--topic", "work", "--group", "g", "--to", "2026-03-01T11:00:00Z", "--yes"];
    const { code, out, err } = await type(api, args);
    expect(out).toBe(
      "cancelled 1 job of work due from 2026-03-01T08:00:00.000Z to 2026-03-01T11:00:00.000Z\n",
    );
    expect(err).toMatch(new RegExp(`^${id}: .*\nminutehand: 1 job not changed: 1 job-running\n$`));
    expect(code).toBe(1);
    const jobs = await jobsIn(api, [String(id), String(waiting.id), String(late.id)]);
    expect(jobs).toMatchObject([{ state: "running" }, { state: "cancelled" }, { state: "scheduled" }]);
  });

  test("are moved, and run now at a rate", async () => {
    await using api = await serveApi();
    const ids = await fileSome(api);
    const sale = ["reschedule", "--topic", "orders", "--tag", "sale", ...UNTIL, "--yes"];
    const moved = await type(api, [...sale, "--due-at", "2026-03-01T20:00:00Z"]);
    expect(moved).toMatchObject({ code: 0, out: `moved 3 jobs of orders due ${RANGE}\n` });
    for (const job of (await jobsIn(api, ids)).slice(0, 3))
      expect(job.dueAt).toBe("2026-03-01T20:00:00.000Z");
    const again = sale.map((word) => word.replace("T13:", "T21:"));
    const run = await type(api, [...again, "--now", "--rate", "0.5", "--json"]);
    expect(run.lines).toMatchObject([{ action: "run", changed: 3 }]);
    const due = (await jobsIn(api, ids)).map(({ dueAt }) => dueAt);
    expect(due.slice(0, 3).sort()).toEqual([0, 2, 4].map((second) => `2026-03-01T09:00:0${second}.000Z`));
    expect(due[3]).toBe("2026-03-01T10:00:00.000Z");
  });

  test("are shifted, each by as much", async () => {
    await using api = await serveApi();
    const ids = await fileSome(api);
    const before = await jobsIn(api, ids);
    const sale = ["reschedule", "--topic", "orders", "--tag", "sale", ...UNTIL, "--yes"];
    expect(await type(api, [...sale, "--shift", "-5m"])).toMatchObject({ code: 0 });
    const moved = await jobsIn(api, ids);
    for (const [i, { dueAt }] of before.slice(0, 3).entries())
      expect(Date.parse(String(moved[i]?.dueAt))).toBe(Date.parse(String(dueAt)) - 300_000);
    expect(moved[3]?.dueAt).toBe(before[3]?.dueAt);
  });

  test("say before they are moved that more than a hundred come in one second", async () => {
    await using api = await serveApi();
    const jobs = Array.from({ length: 101 }, () => ({ topic: "orders", body: 1, delay: "1h" }));
    await api.call("POST", "/jobs/batch", { body: { jobs } });
    const crowd = ["reschedule", "--topic", "orders", "--dry-run"];
    expect((await type(api, [...crowd, "--delay", "2h"])).out).toContain("all to the same second (--shift");
    expect((await type(api, [...crowd, "--delay", "2h", "--rate", "1"])).out).not.toContain("same second");
    expect((await type(api, [...crowd, "--shift", "2h"])).out).not.toContain("same second");
  });

  test("are dismissed all together, or by their tag", async () => {
    await using api = await serveApi();
    const ids = [await api.bury({ tag: "sale" }, "no"), await api.bury({}, "no"), await api.bury({}, "no")];
    await api.world.pass(SECOND);
    const dismiss = ["dismiss", "work", "--all"];
    expect((await type(api, [...dismiss, "--dry-run"])).out).toMatch(
      /^would dismiss 3 jobs of work that died from .* to .*\n$/,
    );
    expect((await type(api, ["dismiss", "work", "--tag", "sale", "--yes"])).out).toMatch(
      /^dismissed 1 job of work that died/,
    );
    expect((await type(api, [...dismiss, "--yes", "--reason", "old"])).out).toMatch(
      /^dismissed 2 jobs of work/,
    );
    expect(await type(api, ["dead", "work"])).toMatchObject({ err: "no dead job\n" });
    const { json } = await api.call("GET", `/jobs/${ids[2]}`);
    expect((json.timeline as object[]).at(-1)).toMatchObject({
      event: "cancelled",
      by: { kind: "bulk", reason: "old" },
    });
  });

  test("are redriven by their tag", async () => {
    await using api = await serveApi();
    const ids: string[] = [];
    for (const tag of ["sale", "other"]) {
      ids.push(await api.bury({ tag }));
      await api.world.pass(SECOND);
    }
    const redrive = ["redrive", "work", "--tag", "sale"];
    const counted = await type(api, [...redrive, "--dry-run"]);
    expect(counted.out).toMatch(
      /^would redrive 1 job of work that died from .* to 2026-03-01T09:00:02.000Z\n$/,
    );
    expect((await type(api, [...redrive, "--yes"])).out).toMatch(/^redriven 1 job of work that died/);
    expect(await jobsIn(api, ids)).toMatchObject([{ state: "scheduled" }, { state: "dead" }]);
    expect(await type(api, [...redrive, "--yes", "--delay", "1h"])).toMatchObject({
      code: 2,
      err: "minutehand: --delay must be given without filters\n",
    });
  });

  describe("of a bulk that was interrupted", () => {
    const MOVE = ["reschedule", "--topic", "orders", "--delay", "6h"];
    const fileMany = async ({ call }: ServedApi): Promise<void> => {
      for (let part = 0; part < 2; part++) {
        const jobs = Array.from({ length: 300 }, (_, i) => ({ topic: "orders", body: 1, delay: 600 + i }));
        await call("POST", "/jobs/batch", { body: { jobs } });
      }
    };
    /** Calls `act` when the second call of a bulk begins. `counted`: how many calls have counted the jobs before the bulk. */
    const atSecondPart = (api: ServedApi, counted: number, act: () => Promise<void> | never): void => {
      api.world.pool.hooks.before = async ({ operation }) => {
        if (operation === "page" && api.authorizations.length === counted + 2) await act();
      };
    };
    const revisionsOf = async ({ call }: ServedApi): Promise<unknown[]> => {
      const { json } = await call("GET", "/jobs?limit=1000&to=2026-03-01T16:00:00Z");
      return (json.jobs as { revision: number }[]).map(({ revision }) => revision);
    };
    const once = Array.from({ length: 600 }, () => 1);

    test("can be continued as the command says, and none is moved twice", async () => {
      await using api = await serveApi();
      await fileMany(api);
      atSecondPart(api, 0, () => {
        throw new Error("crash");
      });
      const { code, err } = await type(api, [...MOVE, "--yes"]);
      const [, cursor = ""] =
        /^500 jobs moved; to continue, run the same command with --cursor (\S+)\nminutehand: /.exec(err) ??
        [];
      expect({ code, cursor }).toEqual({ code: 1, cursor: expect.stringMatching(/./) });
      delete api.world.pool.hooks.before;
      const rest = await type(api, [...MOVE, "--cursor", cursor]);
      expect(rest).toMatchObject({ code: 0, out: expect.stringMatching(/^moved 100 jobs of orders/) });
      expect(await revisionsOf(api)).toEqual(once);
    });

    test("shifts no job twice, if the command is continued as it says after a first part without an answer", async () => {
      await using api = await serveApi();
      await fileMany(api);
      let writes = 0;
      api.world.pool.hooks.before = ({ operation }) => {
        if (operation !== "page" && operation !== "read" && ++writes > 100) throw new Error("crash");
      };
      const shift = ["reschedule", "--topic", "orders", "--shift", "1h", "--yes"];
      const { code, err } = await type(api, shift);
      const [, ...flags] =
        /^no answer; to continue, run the same command with (--idempotency-key) (\S+)\nminutehand: /.exec(
          err,
        ) ?? [];
      expect({ code, flags: flags.length }).toEqual({ code: 1, flags: 2 });
      delete api.world.pool.hooks.before;
      expect(await revisionsOf(api)).toEqual(expect.arrayContaining([0, 1]));
      expect(await type(api, [...shift, ...flags])).toMatchObject({ code: 0 });
      expect(await revisionsOf(api)).toEqual(once);
    });

    test("can be continued after Ctrl-C too, with the range that was counted", async () => {
      await using api = await serveApi();
      await fileMany(api);
      const pressed = Promise.withResolvers<void>();
      const over = Promise.withResolvers<void>();
      atSecondPart(api, 2, () => {
        pressed.resolve();
        return over.promise;
      });
      const typed = { terminal: true, input: "y\n", interrupted: pressed.promise } as const;
      const { code, err } = await type(api, MOVE, typed);
      const [, ...flags] =
        /500 jobs moved; to continue, run the same command with (--from) (\S+) (--to) (\S+) (--cursor) (\S+)\n$/.exec(
          err,
        ) ?? [];
      expect({ code, flags: flags.length }).toEqual({ code: 130, flags: 6 });
      delete api.world.pool.hooks.before;
      over.resolve();
      await expect.poll(() => revisionsOf(api)).toEqual(once);
      const rest = await type(api, [...MOVE, ...flags]);
      // The second call had changed its jobs, though the command did not wait for the answer.
      expect(rest).toMatchObject({ code: 0, out: expect.stringMatching(/^moved 100 jobs of orders/) });
      expect(await revisionsOf(api)).toEqual(once);
    });
  });

  test("show their progress: a terminal clears it at the end, and other output gets a line if the work takes long", async () => {
    await using api = await serveApi();
    const jobs = Array.from({ length: 300 }, (_, i) => ({
      topic: "orders",
      body: 1,
      delay: i * 2,
      tag: "sale",
    }));
    await api.call("POST", "/jobs/batch", { body: { jobs } });
    await api.call("POST", "/jobs/batch", {
      body: { jobs: jobs.map((job) => ({ ...job, delay: job.delay + 1 })) },
    });
    let time = START;
    const clock = () => {
      time += 10 * SECOND;
      return time;
    };
    const slow = await type(api, [...SALE, "--dry-run"], { clock });
    expect(slow).toMatchObject({ code: 0, err: "22 %: 500 jobs found\n" });
    const quick = await type(api, [...SALE, "--dry-run"]);
    expect(quick).toMatchObject({ code: 0, err: "" });
    const seen = await type(api, [...SALE, "--yes", "--url", api.url], { terminal: true });
    const clear = "\r\u001b[K";
    expect(seen.err).toBe(`${clear}22 %: 500 jobs cancelled${clear}`);
    expect(seen.out).toMatch(/^cancelled 600 jobs of orders due/);
  });
});
