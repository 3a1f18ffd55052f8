import { expect, test } from "vitest";
import { createTeardown } from "../../local/teardown.ts";

test("if a step fails, the other steps still run, and the error has its reason", async () => {
  const { add, run } = createTeardown();
  const undone: string[] = [];
  add(() => undone.push("first"));
  add(() => {
    throw new Error("the port is gone");
  });
  add(() => undone.push("last"));
  await expect(run()).rejects.toThrow("parts of the local stack did not end cleanly: the port is gone");
  expect(undone).toEqual(["last", "first"]);
});
