import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect } from "vitest";
import { createFunctionPool, type FunctionPool } from "../../../local/functions/function-pool.ts";
import { formatLogLine } from "../../../local/log-lines.ts";
import { startGuard } from "../../../local/processes/guard.ts";
import { createClock } from "../../../local/services/clock.ts";
import { HANG_MS } from "../../patience.ts";
import { pythonTest } from "../../support/python.ts";
import { functionSpec } from "../stacks.ts";

const CODE = `
import logging, os, time
logger = logging.getLogger()
logger.setLevel(logging.INFO)
count = 0

def handler(event, context):
    global count
    count += 1
    print("got", event["do"])
    if event["do"] == "fail":
        raise ValueError("width must be more than 0")
    if event["do"] == "exit":
        os._exit(3)
    if event["do"] == "log":
        logger.debug("hidden")
        logger.info("sent %s of %s", 1, 2)
        try:
            raise ValueError("no server")
        except ValueError:
            logger.exception("could not send")
    if event["do"] == "sleep":
        time.sleep(60)
    if event["do"] == "set":
        return {1, 2}
    left = context.get_remaining_time_in_millis()
    return {"count": count, "text": event["text"], "left": left, "greeting": os.environ["GREETING"],
            "id": context.aws_request_id, "arn": context.invoked_function_arn}
`;

const codeDir = mkdtempSync(join(tmpdir(), "python-function-"));
writeFileSync(join(codeDir, "app.py"), CODE);
writeFileSync(join(codeDir, "broken.py"), "import no_such_module");
const guard = startGuard();
const lines: string[] = [];
const host = {
  guard,
  variables: {},
  clock: createClock(),
  onLine: (_: string, line: string) => void lines.push(line),
};

let pool: FunctionPool;
const open = (handler = "app.handler", timeoutMs = HANG_MS) => {
  const spec = { ...functionSpec("Thumbnail"), handler, codeDir, timeoutMs, isPython: true as const };
  pool = createFunctionPool({ ...spec, environment: { GREETING: "hi" } }, host);
  return pool;
};

afterEach(() => pool.stop(0));
afterAll(() => {
  guard.stop();
  rmSync(codeDir, { recursive: true });
});

pythonTest("a Python function gets its event and its context, and keeps its process", async () => {
  const { invoke } = open();
  // Longer than what a socket takes at once.
  const text = "é😀".repeat(50_000);
  const first = await invoke({ do: "answer", text });
  const second = await invoke({ do: "answer", text });
  const answers = [first, second].map((one) => one.outcome === "returned" && JSON.parse(one.payload));
  const arn = "arn:aws:lambda:us-east-1:0:function:Thumbnail";
  expect(answers).toMatchObject([
    { count: 1, text, greeting: "hi", arn },
    { count: 2, text, greeting: "hi", arn },
  ]);
  expect(answers[0].left).toBeGreaterThan(HANG_MS / 2);
  expect(answers[0].left).toBeLessThanOrEqual(HANG_MS);
  expect(answers[0].id).not.toBe(answers[1].id);
  expect(lines).toContain("got answer");
});

pythonTest("a Python function that raises has failed, with its type, its message and its place", async () => {
  const { invoke } = open();
  expect(await invoke({ do: "fail" })).toEqual({
    outcome: "threw",
    error: {
      ...{ errorType: "ValueError", errorMessage: "width must be more than 0" },
      thrown: {
        message: "width must be more than 0",
        stack: expect.stringMatching(/^Traceback .*:\n {2}File ".*app\.py", line 12, in handler\n/),
      },
    },
  });
  expect(await invoke({ do: "set" })).toMatchObject({ outcome: "threw", error: { errorType: "TypeError" } });
  expect(await invoke({ do: "exit" })).toMatchObject({ outcome: "crashed" });
});

pythonTest("the log shows what logging has at its level, and a traceback as one entry", async () => {
  const shown: (string | undefined)[] = [];
  host.onLine = (_, line) => void shown.push(formatLogLine("thumbnail", line, 0, codeDir)?.text.slice(14));
  const { invoke } = open();
  await invoke({ do: "log", text: "" });
  await expect.poll(() => shown, { timeout: HANG_MS }).toHaveLength(3);
  expect(shown.slice(0, 2)).toEqual(["thumbnail  got log", "thumbnail  [INFO]  sent 1 of 2"]);
  expect(shown[2]?.split("\n").map((line) => line.trim())).toEqual([
    "thumbnail  [ERROR]  could not send error=no server",
    "ValueError: no server",
    "Traceback (most recent call last):",
    expect.stringMatching(/^File "app.py", line \d+, in handler$/),
    'raise ValueError("no server")',
  ]);
});

pythonTest("a Python function that takes too long is ended", async () => {
  const { invoke } = open("app.handler", 1000);
  expect(await invoke({ do: "sleep" })).toMatchObject({
    outcome: "timed-out",
    error: { errorMessage: expect.stringContaining("timed out after 1 seconds") },
  });
});

pythonTest("a Python function that cannot be loaded says why, with the frames of its own code", async () => {
  writeFileSync(join(codeDir, "unfinished.py"), "def handler(:\n");
  host.onLine = (_, line) => void lines.push(line);
  for (const [handler, message, stack] of [
    [
      "broken.handler",
      "No module named 'no_such_module'",
      /\n {2}File ".*broken\.py", line 1, in <module>\n/,
    ],
    [
      "unfinished.handler",
      "invalid syntax (unfinished.py, line 1)",
      /\n {2}File ".*unfinished\.py", line 1\n/,
    ],
  ] as const) {
    const { invoke } = open(handler);
    expect(await invoke({})).toMatchObject({ outcome: "crashed", error: { errorMessage: message } });
    const { thrown } = JSON.parse(lines.at(-1) ?? "");
    expect(thrown.stack).toMatch(RegExp(`^Traceback \\(most recent call last\\):${stack.source}`));
    pool.stop(0);
  }
});
