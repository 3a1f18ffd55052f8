import { expect, test } from "vitest";
import { isOfPackages, withoutPackages } from "../../src/general/package-files.ts";

test("npm's list of packages stands for the files of packages", () => {
  const paths = ["/shop/mail.ts", "/shop/node_modules/a/node_modules/b/x.js", "/shop/node_modules/c/y.js"];
  expect(withoutPackages(paths)).toEqual(["/shop/mail.ts", "/shop/node_modules/.package-lock.json"]);
});

test.each([
  ["/shop/node_modules/a/x.js", true],
  ["C:\\shop\\node_modules\\a\\x.js", true],
  ["/shop/node_modules.ts", false],
])("%s is of packages: %s", (path, expected) => {
  expect(isOfPackages(path)).toBe(expected);
});
