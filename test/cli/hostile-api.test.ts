import { expect, test } from "vitest";
import { startReceiver } from "../support/receiver.ts";
import { type } from "./command-line.ts";

/** Characters that move the cursor, split a line, reverse the direction of the text, or are invisible. */
const NASTY = "a\u001b[2Jb\u2028c\u202ed\u200be\u{e0041}";
const JOB = "01KJMBQDE001HA2ZQ31MBWX213";
const RAW = ["\u001b", "\u2028", "\u202e", "\u200b", "\u{e0041}"];

/** Serves an API that answers every call with `NASTY` as each text. */
async function hostileApi(status: number) {
  const body = {
    ...Object.fromEntries(
      ["id", "topic", "key", "state", "dueAt", "createdAt", "lastError", "since"].map((name) => [
        name,
        NASTY,
      ]),
    ),
    ...{ type: "about:blank", title: NASTY, detail: NASTY, code: NASTY, status },
    ...{
      revision: 0,
      attempt: 0,
      maxAttempts: 1,
      released: 1,
      left: 0,
      redriven: 1,
      outcome: "created",
      body: NASTY,
    },
    timeline: [],
    jobs: [{ id: NASTY, topic: NASTY, key: NASTY, state: NASTY, dueAt: NASTY, attempt: 1, lastError: NASTY }],
    topics: [],
    schedules: [],
  };
  return startReceiver((_, response) => {
    const type = status < 400 ? "application/json" : "application/problem+json";
    response.writeHead(status, { "content-type": type }).end(JSON.stringify(body));
  });
}

const COMMANDS = [
  ["enqueue", "orders", "--body", "1"],
  ["get", JOB],
  ["reschedule", JOB, "--delay", "1m"],
  ["cancel", JOB],
  ["pause", "orders"],
  ["resume", "orders"],
  ["redrive", "orders"],
  ["schedules", "run", "daily"],
  ["list"],
  ["dead", "orders"],
];

test.each(COMMANDS.flatMap((args) => [200, 409].map((status) => [args.join(" "), status, args] as const)))(
  "%s escapes the characters of an API's answer %i, as text, as JSON and with --debug",
  async (_, status, args) => {
    await using api = await hostileApi(status);
    const env = { MINUTEHAND_URL: `http://127.0.0.1:${api.port}` };
    for (const more of [[], ["--json"], ["--debug"]]) {
      const { out, err } = await type(undefined, [...args, ...more, "--no-color"], { env, terminal: true });
      const shown = `${out}${err}`;
      expect(shown).not.toBe("");
      expect(RAW.filter((raw) => shown.replaceAll("\r\u001b[K", "").includes(raw))).toEqual([]);
    }
  },
);
