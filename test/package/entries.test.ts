import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { entriesOf, OUT_DIR, readManifest } from "../../tools/package/entries.ts";

const ROOT = join(import.meta.dirname, "../..");
const manifest = readManifest(ROOT);

test("each target that is code is built from the source at the same path", () => {
  const exports = {
    "./client": {
      types: "./dist/npm/src/client/client.d.ts",
      module: "./dist/npm/src/client/client.js",
      require: "./dist/npm/commonjs/client.cjs",
      default: "./dist/npm/src/client/client.js",
    },
    "./package.json": "./package.json",
  };
  const bin = { minutehand: "dist/npm/src/cli/main.js" };
  expect(entriesOf({ ...manifest, exports, bin })).toEqual(["src/client/client.ts", "src/cli/main.ts"]);
});

test("every export of package.json has a source in this repository, and its types beside its code", () => {
  const targets = Object.values(manifest.exports).filter((target) => typeof target !== "string");
  for (const target of targets) expect(target.types).toBe(target.default.replace(/\.js$/, ".d.ts"));
  const entries = entriesOf(manifest);
  expect(entries).toHaveLength(targets.length + Object.keys(manifest.bin ?? {}).length);
  expect(entries.filter((entry) => !existsSync(join(ROOT, entry)))).toEqual([]);
});

test("a bundler takes the ES module, also for CommonJS code that requires the package", () => {
  for (const target of Object.values(manifest.exports)) {
    if (typeof target === "string") continue;
    expect(target.module).toBe(target.default);
    expect(Object.keys(target).indexOf("module")).toBeLessThan(Object.keys(target).indexOf("require"));
  }
});

test("TypeScript's old module resolution finds the same types", () => {
  const types = Object.entries(manifest.exports).flatMap(([path, target]) =>
    typeof target === "string" ? [] : [[path.replace("./", ""), [target.types]]],
  );
  expect(manifest.typesVersions).toEqual({ "*": Object.fromEntries(types) });
});

test("all code lies in the one folder that is packed", () => {
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [] : Object.values(target),
  );
  for (const target of targets) expect(target.startsWith(`./${OUT_DIR}/`)).toBe(true);
});
