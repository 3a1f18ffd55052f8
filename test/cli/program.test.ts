import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { afterEach, describe, expect, test, vi } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { refusalOfNode } from "../../src/cli/node-version.ts";
import { createProgram } from "../../src/cli/program.ts";
import { MinutehandError } from "../../src/core/errors.ts";
import { type } from "./command-line.ts";
import { serveApi } from "./served-api.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const nothing = () => {
  throw new Error("no command is run");
};
const program = createProgram({ stdout: {}, stderr: {} } as never, nothing);
const pathsOf = (command: Command, path: string[]): string[][] => [
  path,
  ...command.commands.flatMap((sub) => pathsOf(sub, [...path, sub.name()])),
];

test.each(pathsOf(program, []))(
  "--help of %j is on stdout, and has examples that can be typed",
  async (...path) => {
    const { code, out, err } = await type(undefined, [...path, "--help"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(`Usage: ${["minutehand", ...path].join(" ")}`);
    const [, examples = ""] = /\nExamples:\n((?: {2}\$ .*\n)+)/.exec(out) ?? [];
    expect(examples).toContain(path.join(" "));
  },
);

const DURATION_RULE =
  'It must be seconds (0 or more) or a text such as "90s", "1h30m" or "7d", at most 3660 days.';
const ID_RULE =
  "It must be a job's id: the 26 characters that enqueue answered. To name a job by its key, use --topic and --key.";
const DEAD_ID_RULE =
  "It must be a job's id: the 26 characters that enqueue answered. To find the id of a job with a key: minutehand get --topic <topic> --key <key>.";

describe("a command line", () => {
  test.each([
    [["lits"], "unknown command 'lits' (Did you mean list?): see --help"],
    [["help", "enqueu"], "unknown command 'enqueu' (Did you mean enqueue?): see --help"],
    [["list", "--topics"], "unknown option '--topics' (Did you mean --topic?): see --help"],
    [
      ["enqueue", "orders", "--body", "1", "--in", "5m"],
      "unknown option '--in' (Did you mean --delay?): see --help",
    ],
    [
      ["enqueue", "orders", "--body", "1", "--max-retries", "5"],
      "unknown option '--max-retries' (Did you mean --max-attempts?): see --help",
    ],
    [
      ["enqueue", "--topic", "orders", "--body", "1", "--delay", "5"],
      "unknown option '--topic': <topic> is an argument, and no option: see --help",
    ],
    [["topics", "--in", "5m"], "unknown option '--in': see --help"],
    [["get", "--shard", "1"], "unknown option '--shard': see --help"],
    [
      ["enqueue", "orders", "--bdy", "1", "--delay", "5"],
      "unknown option '--bdy' (Did you mean --body?): see --help",
    ],
    [["event", "put", "--detial", "{}"], "unknown option '--detial' (Did you mean --detail?): see --help"],
    [["enqueue", "orders", "--delay", "5"], "required option '--body <json>' not specified"],
    [
      ["schedules", "put", "daily", "--topic", "t", "--body", "1"],
      "required option '--expression <text>' not specified",
    ],
    [["pause"], "missing required argument 'topic'"],
    [
      ["schedules", "nope"],
      "unknown command 'schedules nope': it must be list, put, show, pause, resume, run or remove",
    ],
    [["pause", "a", "b"], "too many arguments for 'pause'. Expected 1 argument but got 2: a, b."],
    [
      ["list", "--limit", "0"],
      "option '--limit <n>' argument '0' is invalid. It must be a whole number of at least 1.",
    ],
    [
      ["enqueue", "orders", "--body", "1", "--delay", "40000000"],
      "option '--delay <duration>' argument '40000000' is invalid. It must be at most 31622400 as a number, which is seconds (did you mean milliseconds?), or a text with its unit, such as \"400d\".",
    ],
    [
      ["list", "--from", "2026-03-01"],
      "option '--from <time>' argument '2026-03-01' is invalid. It must be a time with its offset from UTC, yyyy-mm-ddThh:mm:ss followed by Z or an offset, such as 2026-03-01T09:30:00Z, 2026-03-01T10:30:00+01:00 or 2026-03-01T10:30:00+01:00[Europe/Paris].",
    ],
    ...["2026-03-01T24:00:00Z", "2026-03-01T09:30:00", "2026-03-01T09:30:00 01:00"].map(
      (time): [string[], string] => [
        ["forecast", "--from", time],
        `option '--from <time>' argument '${time}' is invalid. It must be a time with its offset from UTC, yyyy-mm-ddThh:mm:ss followed by Z or an offset, such as 2026-03-01T09:30:00Z, 2026-03-01T10:30:00+01:00 or 2026-03-01T10:30:00+01:00[Europe/Paris].`,
      ],
    ),
    ...["2026-02-30T09:30:00Z", "9999-12-31T23:59:59-01:00"].map((time): [string[], string] => [
      ["forecast", "--from", time],
      `option '--from <time>' argument '${time}' is invalid. It must be a time that exists, in the years 0 to 9999 of UTC.`,
    ]),
    [
      ["list", "--state", "asleep"],
      "option '--state <state>' argument 'asleep' is invalid. Allowed choices are scheduled, running, done, cancelled, dead, expired, handed-off.",
    ],
    [
      ["enqueue", "orders", "--delay", "soon", "--body", "1"],
      `option '--delay <duration>' argument 'soon' is invalid. ${DURATION_RULE}`,
    ],
    [
      ["enqueue", "orders", "--delay", "3661d", "--body", "1"],
      `option '--delay <duration>' argument '3661d' is invalid. ${DURATION_RULE}`,
    ],
    ...[
      ["get", "id"],
      ["reschedule", "id"],
      ["cancel", "ids"],
    ].map(([command = "", name]): [string[], string] => [
      [command, "order-17"],
      `the value 'order-17' of the argument '${name}' is invalid. ${ID_RULE}`,
    ]),
    ...["redrive", "dismiss"].map((command): [string[], string] => [
      [command, "orders", "order-17"],
      `the value 'order-17' of the argument 'ids' is invalid. ${DEAD_ID_RULE}`,
    ]),
    [["enqueue", "orders", "--body", "1"], "one of --delay and --due-at must be given"],
    [
      ["enqueue", "orders", "--body", "1", "--delay", "1", "--due-at", "2026-03-01T09:30:00Z"],
      "option '--delay <duration>' cannot be used with option '--due-at <time>'",
    ],
    [
      ["enqueue", "orders", "--delay", "1", "--body", "1", "--header", "a"],
      "option '--header <name=value>' argument 'a' is invalid. It must have the form name=value.",
    ],
    [
      ["resume", "orders", "--rate", "fast"],
      "option '--rate <n>' argument 'fast' is invalid. It must be a number of jobs a second.",
    ],
    [
      ["cancel", "--topic", "a", "--dry-run", "--yes"],
      "option '--dry-run' cannot be used with option '--yes'",
    ],
    [
      ["cancel", "--topic", "a", "--key", "k", "--yes"],
      "--key names one job: it must be given without filters, --dry-run and --yes",
    ],
  ])("%j is refused with one line and the exit code 2", async (args, message) => {
    const { code, out, err } = await type(undefined, args);
    expect({ code, out, err }).toEqual({ code: 2, out: "", err: `minutehand: ${message}\n` });
  });

  test("without a command prints the usage", async () => {
    const { code, err } = await type(undefined, []);
    expect(err).toContain("Usage: minutehand");
    expect(code).toBe(2);
  });

  test("can ask for the version", async () => {
    expect(await type(undefined, ["--version"])).toMatchObject({ code: 0, out: `${packageJson.version}\n` });
  });

  test.each(["v18.20.0", "v20.19.0", "v22.9.0", "v22.11.0"])(
    "refuses Node %s, which is too old, and says in one line what to install",
    (nodeVersion) => {
      expect(refusalOfNode(nodeVersion)).toMatch(
        RegExp(
          `^this program needs Node 22.12 or later, .* got ${nodeVersion}: install Node 24 from \\S+, or in the project: npm install --save-dev node@24, .*$`,
        ),
      );
    },
  );

  test("runs on the Nodes that package.json names", () => {
    expect(packageJson.engines.node).toBe(">=22.12");
    for (const version of ["v22.12.0", "v24.0.0", "v26.1.0"]) expect(refusalOfNode(version)).toBeUndefined();
  });

  test("loads nothing that an old Node lacks before it has checked the version", () => {
    const main = readFileSync(new URL("../../src/cli/main.ts", import.meta.url), "utf8");
    const imported = [...main.matchAll(/^import .* from "(.*)"/gm)].map(([, name]) => name);
    expect(imported.filter((name) => !name?.startsWith("node:"))).toEqual(["./node-version.ts"]);
    const check = readFileSync(new URL("../../src/cli/node-version.ts", import.meta.url), "utf8");
    expect(check).not.toMatch(/^import/m);
  });

  test("refuses to run the local stack on a Node before 24", async () => {
    expect(await type(undefined, ["local"], { nodeVersion: "v22.19.0" })).toMatchObject({
      code: 1,
      err: "minutehand: minutehand local needs Node 24 or later, got v22.19.0\n",
    });
  });

  test("prints the stack trace of an error of the local command with --debug", async () => {
    const { err } = await type(undefined, ["local", "--debug"], { nodeVersion: "v22.19.0" });
    expect(err).toMatch(/^minutehand: CliError: minutehand local needs Node 24 .*\n +at /);
  });

  test("puts --region and --profile into the environment, where the SDK of the stack's app reads them", async () => {
    const env: Record<string, string | undefined> = {};
    const args = ["local", "--region", "eu-north-1", "--profile", "ops"];
    // This Node is too old, so no stack is started.
    await type(undefined, args, { env, nodeVersion: "v22.19.0" });
    expect(env).toEqual({ AWS_REGION: "eu-north-1", AWS_PROFILE: "ops" });
  });

  test("prints the stack trace of an error with --debug", async () => {
    await using api = await serveApi();
    const { err } = await type(api, ["get", "01KJMBQDE001HA2ZQ31MBWX213", "--debug"]);
    expect(err).toMatch(/^minutehand: MinutehandError: .*\n +at /);
  });
});

describe("colours", () => {
  const ESC = "\u001b[";

  test("are printed on terminals only", async () => {
    await using api = await serveApi();
    await api.call("DELETE", `/jobs/${(await api.file({ delay: "1m" })).id}`);
    expect((await type(api, ["list"], { terminal: true })).out).toContain(`${ESC}2mcancelled${ESC}22m`);
    const env = { MINUTEHAND_URL: api.url };
    for (const said of [
      await type(api, ["list"]),
      await type(api, ["list", "--json"], { terminal: true }),
      await type(api, ["list", "--no-color"], { terminal: true }),
      await type(api, ["list"], { terminal: true, env: { ...env, NO_COLOR: "1" } }),
      await type(api, ["list"], { terminal: true, env: { ...env, TERM: "dumb" } }),
    ]) {
      expect(said.out).toContain("cancelled");
      expect(said.out + said.err).not.toContain(ESC);
    }
  });

  test("cannot be changed by the texts of a job", async () => {
    await using api = await serveApi();
    const error = "a\u001b[31mb\u202e\u009bc";
    const id = await api.bury({}, error);
    for (const args of [
      ["dead", "work"],
      ["get", id],
      ["dead", "work", "--json"],
    ]) {
      const { out } = await type(api, [...args, "--no-color"], { terminal: true });
      expect(out).toContain("a\\u001b[31mb\\u202e\\u009bc");
    }
    expect((await type(api, ["dead", "work", "--json"])).lines).toMatchObject([{ lastError: error }]);
  });
});

describe("completion", () => {
  const complete = async (typed: string[], api?: Awaited<ReturnType<typeof serveApi>>) => {
    const env = { MINUTEHAND_TYPED: typed.join("\n"), MINUTEHAND_URL: api?.url };
    const { code, out } = await type(api, ["completion", "--typed"], { env });
    expect(code).toBe(0);
    return out.split("\n").slice(0, -1);
  };

  test.each([
    [["re"], ["reschedule", "redrive", "resume", "receiver-secret", "restore"]],
    [
      ["schedules", "p"],
      ["put", "pause"],
    ],
    [
      ["list", "--st"],
      ["--state", "--stack"],
    ],
    [
      ["list", "--state", "d"],
      ["done", "dead"],
    ],
    [
      ["enqueue", "x", "--on-duplicate", ""],
      ["reject", "keep", "replace", "postpone"],
    ],
    [["completion", "--url", ""], []],
    [["--profile", "local", "li"], ["list"]],
    [["--region", "list", "schedules", "--token", "put", "sh"], ["show"]],
    [["completion", "f"], ["fish"]],
    [["completion", "--t"], ["--token"]],
  ])("of %j is %j", async (typed, words) => {
    expect(await complete(typed)).toEqual(words);
  });

  test.each([[["pause", "o"]], [["list", "--topic", "o"]]])("of %j asks for the topics", async (typed) => {
    await using api = await serveApi();
    expect(await complete(typed, api)).toEqual(["orders"]);
  });

  test("asks for topics only once, because the user is waiting", async () => {
    await using api = await serveApi();
    api.world.pool.hooks.before = () => {
      throw new MinutehandError("unavailable", "down");
    };
    const env = { MINUTEHAND_TYPED: "pause\no", MINUTEHAND_URL: api.url };
    expect(await type(api, ["completion", "--typed"], { env })).toMatchObject({ code: 1, out: "" });
    expect(api.authorizations).toHaveLength(1);
  });

  test("waits for an answer of the local address for a second at most", async () => {
    const patience = vi.spyOn(AbortSignal, "timeout");
    vi.stubGlobal("fetch", async () => {
      throw new TypeError("fetch failed");
    });
    const env = { MINUTEHAND_TYPED: "pause\no" };
    expect(await type(undefined, ["completion", "--typed"], { env })).toMatchObject({ code: 2, out: "" });
    expect(patience.mock.calls).toEqual([[1000]]);
  });

  test("is a script that bash takes", async () => {
    const { out } = await type(undefined, ["completion", "bash"]);
    // What is typed so far ends with an empty word, which must not get lost.
    const shown = `${out}
minutehand() { printf '%s' "$*" "$MINUTEHAND_TYPED" | tr '\\n' '/'; }
COMP_WORDS=(minutehand list --topic "") COMP_CWORD=3
_minutehand
printf '%s|' "\${COMPREPLY[@]}"`;
    const said = execFileSync("bash", ["-eu", "-c", shown], { encoding: "utf8" });
    expect(said).toBe("completion/--typedlist/--topic/|");
  });

  test.each(["zsh", "fish"])("is a script for %s", async (shell) => {
    const { code, out } = await type(undefined, ["completion", shell]);
    expect(code).toBe(0);
    expect(out).toContain("minutehand completion --typed 2>/dev/null");
    expect(out).toMatch(/else\s+_*(?:fish_complete_path \(commandline -ct\)|files;)/);
  });

  test("needs the name of a known shell", async () => {
    expect(await type(undefined, ["completion"])).toMatchObject({ code: 2 });
    expect(await type(undefined, ["completion", "csh"])).toMatchObject({ code: 2 });
  });
});
