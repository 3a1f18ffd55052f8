import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { createFunctions } from "../../../local/functions/stack-functions.ts";
import { startGuard } from "../../../local/processes/guard.ts";
import { createClock } from "../../../local/services/clock.ts";
import { HANG_MS } from "../../patience.ts";
import { functionSpec, stackWith } from "../stacks.ts";

const guard = startGuard();
afterAll(() => guard.stop());

const codeDir = fileURLToPath(new URL("../fixtures/app/functions/echo", import.meta.url));
const open = (environment = {}) => {
  const lines: string[] = [];
  const spec = { ...functionSpec("Echo"), handler: "index.handler", codeDir, timeoutMs: 60_000, environment };
  const functions = createFunctions(stackWith({ functions: [spec] }), {
    ...{ guard, variables: {}, clock: createClock(), root: codeDir },
    addLine: ({ text }) => lines.push(text),
  });
  const invoke = (rawPath: string, line = "") => functions.invoke(functions.find("Echo"), { rawPath, line });
  return { lines, functions, invoke };
};

test("a stop logs no error of a call that waits", async () => {
  const { lines, functions, invoke } = open();
  await invoke("/");
  const waiting = invoke("/hang");
  // The triggers end the functions first.
  await Promise.all(functions.pools.map((pool) => pool.stop(0)));
  await functions.stop();
  expect(await waiting).toMatchObject({ outcome: "crashed" });
  expect(lines).toEqual([]);
});

test.each([
  [
    "closes",
    "HTTP 401: bad signature",
    "HTTP 401: bad signature; its secret: minutehand receiver-secret URL --topic closes",
  ],
  ["closes", "HTTP 500", "HTTP 500"],
  [undefined, "HTTP 401", "HTTP 401"],
])("a receiver of the topic %s that answers %s is logged as %s", async (topic, error, said) => {
  const { lines, functions, invoke } = open(topic && { MINUTEHAND_WEBHOOK_TOPIC: topic });
  await invoke(
    "/log",
    JSON.stringify({ message: "job failed", type: "failed", id: "01K", attempt: 1, error }),
  );
  await expect.poll(() => lines, { timeout: HANG_MS }).toHaveLength(1);
  expect(lines[0]?.split("  ").at(-1)).toBe(`failed attempt 1: ${said}`);
  await functions.stop();
});

test("a process that dies without a stop is logged", async () => {
  const { lines, functions, invoke } = open();
  expect(await invoke("/exit")).toMatchObject({ outcome: "crashed" });
  expect(lines.join("\n")).toContain("its process ended");
  await functions.stop();
});
