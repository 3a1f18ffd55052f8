import { expect, test } from "vitest";
import { nameOfStack } from "../../console/local-console.ts";

test.each([
  ["/home/ada/shop", "local stack of shop"],
  [`/home/ada/${"x".repeat(41)}`, `local stack of ${"x".repeat(39)}…`],
  ["/", "local stack"],
])("the local stack in the folder %s is called %s", (folder, name) => {
  expect(nameOfStack(folder)).toBe(name);
});
