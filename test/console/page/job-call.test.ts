import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { curlText, typescriptText } from "../../../console/page/job-call.ts";

const URL = "http://127.0.0.1:4500";
const job = {
  topic: "orders",
  key: "it's $HOME `id`",
  delay: 5,
  body: { text: '\'; rm -rf ~ #\n\\ \u2028 "quoted" $x', ["__proto__"]: 1 },
};

/** The arguments that a POSIX shell passes to curl. */
function argumentsIn(command: string): string[] {
  const script = `curl() { for one in "$@"; do printf '%s\\0' "$one"; done; }; ${command}`;
  return execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
}

test("the shell passes a hostile job to curl as it is", () => {
  const [address, flag, data = ""] = argumentsIn(curlText(job, URL, "none"));
  expect([address, flag]).toEqual([`${URL}/jobs`, "-d"]);
  expect(JSON.parse(data)).toEqual(job);
});

test("the call of a deployed API is signed by curl, and contains no secret", () => {
  const command = curlText(job, "https://abc.execute-api.eu-west-1.amazonaws.com", "iam");
  expect(command).toContain('--aws-sigv4 "aws:amz:eu-west-1:execute-api"');
  expect(command).toContain('--user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY"');
  expect(curlText(job, "https://queue.example.com", "iam")).toContain("aws:amz:$AWS_REGION:execute-api");
  expect(curlText(job, "https://queue.example.com", "bearer")).toContain("Bearer $MINUTEHAND_TOKEN");
});

test("the TypeScript makes the same call", async () => {
  const text = typescriptText(job, URL, "none").replace(/^import .*$/m, "");
  const calls: unknown[][] = [];
  const createClient = (options: object) => ({
    enqueue: async (...call: unknown[]) => void calls.push([options, ...call]),
  });
  const AsyncFunction = (async () => {}).constructor as FunctionConstructor;
  await new AsyncFunction("createClient", text)(createClient);
  const { topic, body, ...options } = job;
  expect(calls).toEqual([[{ url: URL }, topic, body, options]]);
  expect(Object.keys(calls[0]?.[2] as object)).toContain("__proto__");
});
