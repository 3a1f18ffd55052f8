import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { expect, test } from "vitest";
import { ENTRIES } from "./deployment.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => JSON.parse(readFileSync(`${ROOT}${file}`, "utf8"));

type Locked = {
  version: string;
  integrity?: string;
  resolved?: string;
  dev?: boolean;
  optional?: boolean;
  inBundle?: boolean;
  hasInstallScript?: boolean;
};
const locked = Object.entries<Locked>(read("package-lock.json").packages).filter(([path]) => path !== "");

/** The packages whose code is in the functions' bundles, by their paths. */
const shipped = readShipped();

function readShipped(): string[] {
  const { metafile } = buildSync({
    entryPoints: [...new Set(Object.values(ENTRIES))].map((entry) => `${ROOT}${entry}`),
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    outdir: "bundles",
    format: "esm",
    platform: "node",
    mainFields: ["module", "main"],
  });
  const packages = Object.keys(metafile.inputs).flatMap(
    (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  );
  return [...new Set(packages)].sort();
}

test("what runs on AWS is a package of the registry's, locked by its hash and needed in production", () => {
  expect(shipped).toContain("node_modules/hono");
  for (const path of shipped) {
    const [, entry] = locked.find(([name]) => name === path) ?? [];
    expect({ path, ...entry }).toMatchObject({ integrity: expect.stringMatching(/^sha512-/) });
    expect({ path, dev: entry?.dev ?? false }).toEqual({ path, dev: false });
  }
});

test("what runs on AWS comes from these makers", () => {
  const makers = shipped.map((path) => path.replace("node_modules/", "").replace(/^(@[^/]+)\/.*/, "$1"));
  // Beside AWS: the router, the schemas, calendars, addresses, and what the SDK brings to keep its endpoints and to read
  // a user agent.
  const aws = ["@aws", "@aws-lambda-powertools", "@aws-sdk", "@smithy"];
  const others = ["bowser", "croner", "hono", "ipaddr.js", "mnemonist", "obliterator", "zod"];
  expect([...new Set(makers)].sort()).toEqual([...aws, ...others]);
});

test("only what package.json allows runs code when it is installed", () => {
  const withScripts = locked.flatMap(([path, { hasInstallScript }]) => (hasInstallScript ? [path] : []));
  const allowed = Object.keys(read("package.json").allowScripts).map((name) => `node_modules/${name}`);
  expect(withScripts.sort()).toEqual(allowed.sort());
});

test("no package comes from elsewhere than the registry, and none that every machine installs lacks its hash", () => {
  expect(locked.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  const unhashed = locked.filter(
    ([, { integrity, inBundle, optional }]) => !integrity && !inBundle && !optional,
  );
  expect(unhashed.map(([path]) => path)).toEqual([]);
});
