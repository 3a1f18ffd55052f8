import { inspect } from "node:util";
import { Logger } from "@aws-lambda-powertools/logger";
import { expect, test, vi } from "vitest";
import { MinutehandError } from "../../src/core/errors.ts";

const error = new MinutehandError("unknown-topic", "there is no topic nowhere", { topic: "nowhere" });

test("the JSON of an error has its message", () => {
  expect(JSON.parse(JSON.stringify({ results: [error] }))).toEqual({
    results: [
      {
        name: "MinutehandError",
        code: "unknown-topic",
        message: "there is no topic nowhere",
        data: { topic: "nowhere" },
      },
    ],
  });
});

test("consoles and loggers still write an error as one, with its stack", () => {
  expect(inspect(error)).toMatch(/^MinutehandError: there is no topic nowhere\n {4}at /);
  expect(inspect(error).split("there is no topic nowhere")).toHaveLength(2);
  vi.stubEnv("POWERTOOLS_DEV", "true");
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  new Logger().error("failed", error);
  const [[line] = []] = logged.mock.calls;
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  const { message, stack } = JSON.parse(String(line)).error;
  expect([message, String(stack)]).toEqual([error.message, expect.stringContaining(" at ")]);
});
