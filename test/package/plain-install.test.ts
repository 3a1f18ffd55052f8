import { join } from "node:path";
import { expect, test } from "vitest";
import native from "../../package/native-dynamodb/package.json" with { type: "json" };
import { MOST_PACKAGES, productionPackages } from "./plain-install.ts";

const ROOT = join(import.meta.dirname, "../..");
const packages = productionPackages(join(ROOT, "package-lock.json"));
// npm does not mark the dependencies of a linked folder as dependencies for development.
for (const name of Object.keys(native.optionalDependencies)) packages.delete(`node_modules/${name}`);

test("a plain install brings neither emulators nor a bundler, and at most half of the packages that it once brought", () => {
  // The package itself is one more.
  expect(packages.size + 1).toBeLessThanOrEqual(MOST_PACKAGES);
  const local = [...packages.keys()].filter((path) => /\/(?:esbuild|fauxqs|linux-x64)$/.test(path));
  expect(local).toEqual([]);
});

test("no package of a plain install runs a script when it is installed", () => {
  const scripts = [...packages].filter(([, { hasInstallScript }]) => hasInstallScript);
  expect(scripts).toEqual([]);
});
