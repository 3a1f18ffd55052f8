import { expect, test } from "vitest";
import { nodeErrorOf } from "../../local/run.ts";

test.each(["24.0.0", "25.1.0"])("Node %s runs the stack", (version) => {
  expect(nodeErrorOf(version)).toBeUndefined();
});

test("an older Node is told which is needed", () => {
  expect(nodeErrorOf("22.19.0")).toBe("the local stack needs Node 24 or later, this is Node 22.19.0");
});
