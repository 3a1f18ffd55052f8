import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { createFunctions } from "../../../local/functions/stack-functions.ts";
import { startGuard } from "../../../local/processes/guard.ts";
import { createClock } from "../../../local/services/clock.ts";
import { functionSpec, stackWith } from "../stacks.ts";

const guard = startGuard();
afterAll(() => guard.stop());

const codeDir = fileURLToPath(new URL("../fixtures/app/functions/echo", import.meta.url));
const open = () => {
  const lines: string[] = [];
  const spec = { ...functionSpec("Echo"), handler: "index.handler", codeDir, timeoutMs: 60_000 };
  const functions = createFunctions(stackWith({ functions: [spec] }), {
    ...{ guard, variables: {}, clock: createClock(), root: codeDir },
    addLine: ({ text }) => lines.push(text),
  });
  const invoke = (rawPath: string) => functions.invoke(functions.find("Echo"), { rawPath });
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

test("a process that dies without a stop is logged", async () => {
  const { lines, functions, invoke } = open();
  expect(await invoke("/exit")).toMatchObject({ outcome: "crashed" });
  expect(lines.join("\n")).toContain("its process ended");
  await functions.stop();
});
