import { expect, test } from "vitest";
import { follow } from "../../src/cli/follow.ts";
import { createClient } from "../../src/client/http-client.ts";
import { MinutehandError } from "../../src/core/errors.ts";
import { MINUTE, SECOND } from "../support/world.ts";
import { type } from "./command-line.ts";
import { type ServedApi, serveApi } from "./served-api.ts";

/** Runs `tail`. After each of its looks the next of `steps` happens, and after the last step Ctrl-C is pressed. */
async function tail(api: ServedApi, args: readonly string[], steps: readonly (() => unknown)[]) {
  const left = [...steps];
  return type(api, ["tail", ...args], {
    async wait(ms, interrupt) {
      await api.world.pass(ms);
      const step = left.shift();
      if (step === undefined) {
        interrupt();
        // The process would have ended here, so this wait does not end.
        return new Promise<void>(() => {});
      }
      await step();
    },
  });
}

test("tail prints the jobs that are due around now, and each change of them once", async () => {
  await using api = await serveApi();
  const { id } = await api.file({ topic: "work", delay: "30s", key: "k" });
  await api.file({ topic: "work", delay: "10m" });
  let receipt = "";
  const { code, out } = await tail(
    api,
    [],
    [
      () => {},
      () => api.world.pass(30 * SECOND),
      async () => {
        ({ receipt } = await api.receive());
      },
      () => {},
      () => api.call("POST", "/topics/work/finish", { body: { receipt } }),
      () => {},
    ],
  );
  expect(code).toBe(130);
  expect(out.split("\n")).toEqual([
    `2026-03-01T09:00:00.000Z  scheduled   work  ${id} (k)  due 2026-03-01T09:00:30.000Z`,
    `2026-03-01T09:00:36.000Z  running     work  ${id} (k)  attempt 1/10`,
    `2026-03-01T09:00:40.000Z  done        work  ${id} (k)  attempt 1/10`,
    "",
  ]);
});

test("tail finds new jobs, and looks up jobs that were moved out of its range", async () => {
  await using api = await serveApi();
  const { id } = await api.file({ delay: "1m" });
  let second: unknown;
  const { lines } = await tail(
    api,
    ["--topic", "orders", "--json"],
    [
      () => api.call("PATCH", `/jobs/${id}`, { body: { delay: "1d" } }),
      async () => {
        second = (await api.file({ delay: 0 })).id;
      },
      () => api.file({ topic: "work", delay: 0 }),
    ],
  );
  expect(lines).toMatchObject([
    { id, revision: 0 },
    { id, revision: 1, dueAt: "2026-03-02T09:00:02.000Z" },
    { id: second, state: "scheduled" },
  ]);
  expect(lines[1]).not.toHaveProperty("body");
});

test("tail follows a job that runs for longer than it looks back", async () => {
  await using api = await serveApi();
  await api.file({ topic: "work", delay: 0 });
  const { receipt } = await api.receive();
  await api.call("POST", "/topics/work/extend", { body: { receipt, seconds: 3600 } });
  const { lines } = await tail(
    api,
    ["--around", "1m", "--json"],
    [
      () => api.world.pass(5 * MINUTE),
      () => {},
      () => api.call("POST", "/topics/work/bury", { body: { receipt, error: "why" } }),
      () => {},
    ],
  );
  expect(lines).toMatchObject([{ state: "running" }, { state: "dead", lastError: "why" }]);
});

test("tail does not print jobs that had ended before it began", async () => {
  await using api = await serveApi();
  const { id } = await api.file({ delay: "1m" });
  await api.call("DELETE", `/jobs/${id}`);
  expect(await tail(api, [], [() => {}])).toMatchObject({ code: 130, out: "" });
});

test("tail does not print jobs that had ended long before they came into its range, but prints jobs that ended since", async () => {
  await using api = await serveApi();
  const { id } = await api.file({ delay: "10m" });
  let second: unknown;
  const { lines } = await tail(
    api,
    ["--json"],
    [
      () => api.call("DELETE", `/jobs/${id}`),
      () => api.world.pass(MINUTE),
      () => api.world.pass(8 * MINUTE),
      async () => {
        second = (await api.file({ delay: "1m" })).id;
        await api.call("DELETE", `/jobs/${second}`);
      },
      () => {},
    ],
  );
  expect(lines).toMatchObject([{ id: second, state: "cancelled" }]);
});

test("tail --every 0.5 waits for 500 ms", async () => {
  await using api = await serveApi();
  const waited: number[] = [];
  await type(api, ["tail", "--every", "0.5"], {
    wait: (ms, interrupt) => {
      waited.push(ms);
      interrupt();
      return new Promise<void>(() => {});
    },
  });
  expect(waited[0]).toBe(500);
});

test.each(["0", "0.4", "25h"])("tail --every %s is refused", async (every) => {
  expect(await type(undefined, ["tail", "--every", every])).toEqual({
    ...{ code: 2, out: "", lines: [] },
    err: `minutehand: option '--every <duration>' argument '${every}' is invalid. It must be from 0.5 to 86400 seconds.\n`,
  });
});

test.each(["unavailable", "internal"] as const)("follow continues after the error %s", async (code) => {
  await using api = await serveApi();
  const { pool, now } = api.world;
  const troubles: string[] = [];
  const looks = [
    () => {
      pool.hooks.before = () => {
        throw code === "unavailable" ? new MinutehandError(code, "down") : new Error("down");
      };
    },
    () => {
      delete pool.hooks.before;
    },
  ];
  const { id } = await api.file({ delay: "1m" });
  await api.file({ delay: "1m" });
  const changes = follow(createClient({ url: api.url, retries: 0 }), {
    around: 2 * MINUTE,
    every: SECOND,
    clock: now,
    wait: async () => {
      if (looks.length === 0) await api.call("DELETE", `/jobs/${id}`);
      looks.shift()?.();
    },
    onTrouble: ({ code }) => troubles.push(code),
  });
  const seen: string[] = [];
  for await (const { state } of changes) if (seen.push(state) === 3) break;
  expect(seen).toEqual(["scheduled", "scheduled", "cancelled"]);
  expect(troubles).toEqual([code]);
});
