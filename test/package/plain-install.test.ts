import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { expect, test } from "vitest";
import native from "../../tools/package/native-dynamodb/package.json" with { type: "json" };
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

test("an optional client of AWS is imported only where the program has asked whether it is there", () => {
  const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const entryPoints = ["cli/main", "client/client", "consumer/consumer", "testing/test-queue"];
  const { metafile } = buildSync({
    entryPoints: entryPoints.map((entry) => join(ROOT, `src/${entry}.ts`)),
    ...{ bundle: true, splitting: true, write: false, metafile: true, outdir: "bundles" },
    ...{ format: "esm", platform: "node", packages: "external" },
  });
  const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports);
  const optional = imported.filter(({ path }) => path.startsWith("@aws-sdk/") && path in peerDependencies);
  expect(optional.map(({ path }) => path)).toContain("@aws-sdk/client-lambda");
  expect(optional.filter(({ kind }) => kind !== "dynamic-import")).toEqual([]);
});

test("no package of a plain install runs a script when it is installed", () => {
  const scripts = [...packages].filter(([, { hasInstallScript }]) => hasInstallScript);
  expect(scripts).toEqual([]);
});

test("what the console's page is made of is no dependency, because the package contains the page built", () => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const sources = globSync("console/page/**/*.{ts,tsx}", { cwd: ROOT });
  const texts = sources.map((file) => readFileSync(join(ROOT, file), "utf8")).join("\n");
  const named = [...texts.matchAll(/(?:from|import) "(@[^/"]+\/[^/"]+|[^."@/][^/"]*)/g)].map(
    ([, name = ""]) => name,
  );
  const parts = [...new Set(named)];
  expect(parts).toContain("preact");
  expect(parts.filter((name) => name in dependencies || name in peerDependencies)).toEqual([]);
  expect(parts.filter((name) => packages.has(`node_modules/${name}`))).toEqual([]);
});
