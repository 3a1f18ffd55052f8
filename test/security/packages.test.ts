import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { expect, test } from "vitest";
import { ENTRIES } from "./entries.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (file: string) => JSON.parse(readFileSync(`${ROOT}${file}`, "utf8"));

type Locked = {
  version: string;
  license?: string;
  integrity?: string;
  resolved?: string;
  dev?: boolean;
  optional?: boolean;
  inBundle?: boolean;
  peer?: boolean;
  link?: boolean;
  hasInstallScript?: boolean;
};
const locked = Object.entries<Locked>(read("package-lock.json").packages).filter(([path]) => path !== "");

/** For each entry file: the paths of the packages whose code is in its bundle. */
const bundles = new Map([...new Set(Object.values(ENTRIES))].map((entry) => [entry, packagesIn(entry)]));
const shipped = [...new Set([...bundles.values()].flat())].sort();

function packagesIn(entry: string): string[] {
  const { metafile } = buildSync({
    entryPoints: [`${ROOT}${entry}`],
    absWorkingDir: ROOT,
    bundle: true,
    write: false,
    metafile: true,
    outdir: "bundles",
    format: "esm",
    platform: "node",
    mainFields: ["module", "main"],
  });
  const used = Object.values(metafile.outputs).flatMap(({ inputs }) => Object.entries(inputs));
  const packages = used.flatMap(([path, { bytesInOutput }]) => {
    const [name] = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
    return name === undefined || bytesInOutput === 0 ? [] : name;
  });
  return [...new Set(packages)].sort();
}

/** Only functions of the construct need it, which the published package contains as bundles. So no app must install it. */
const ONLY_IN_BUNDLES = ["node_modules/@aws-sdk/client-lambda"];

test("what runs on AWS is a package of the registry's, locked by its hash and needed in production", () => {
  expect(shipped).toContain("node_modules/hono");
  for (const path of shipped) {
    const [, entry] = locked.find(([name]) => name === path) ?? [];
    expect({ path, ...entry }).toMatchObject({ integrity: expect.stringMatching(/^sha512-/) });
    expect({ path, dev: entry?.dev ?? false }).toEqual({ path, dev: ONLY_IN_BUNDLES.includes(path) });
  }
});

test("the licences of all packages that run on AWS allow to distribute them", () => {
  const licences = shipped.map((path) => {
    const [, entry] = locked.find(([name]) => name === path) ?? [];
    return entry?.license ?? `${path} says none`;
  });
  expect([...new Set(licences)].sort()).toEqual(["Apache-2.0", "MIT", "MIT-0", "Unlicense"]);
});

const AWS = /^node_modules\/(?:@aws|@aws-lambda-powertools|@aws-sdk|@smithy)\//;
const DIRECT = ["src/client/direct-client.ts", "src/client/direct-worker.ts"];
/** The packages, of AWS and of others, that only some bundles contain, and the entry files of these bundles. */
const HOLDERS: Readonly<Record<string, readonly string[]>> = {
  "@aws-sdk/client-lambda": ["functions/api.ts", "functions/target.ts", "functions/tick.ts"],
  // The tick compares recurring schedules with those of the table. The other entries file far jobs, which get a schedule each.
  "@aws-sdk/client-scheduler": [
    "functions/api.ts",
    "functions/event.ts",
    "functions/tick.ts",
    "src/client/direct-client.ts",
  ],
  "@aws-sdk/client-secrets-manager": ["functions/webhook.ts"],
  // It judges which addresses may be called, when a job is filed and when its webhook is called.
  "ipaddr.js": ["functions/api.ts", "functions/webhook.ts", "src/client/direct-client.ts"],
  // The nearest known name of an unknown field of a request, or of an unknown option of a call.
  "fastest-levenshtein": ["functions/api.ts", "functions/receive.ts", ...DIRECT],
  standardwebhooks: ["functions/webhook.ts"],
  "@stablelib/base64": ["functions/webhook.ts"],
  "fast-sha256": ["functions/webhook.ts"],
  // The calendar of recurring schedules: the API says when they come next, and both write this to Scheduler.
  croner: ["functions/api.ts", "functions/tick.ts"],
  hono: ["functions/api.ts", "functions/receive.ts"],
  zod: ["functions/api.ts", "functions/receive.ts", ...DIRECT],
};
/** The packages of others that every bundle contains: the SDK stores endpoints with two of them, and the third signs events of `notify`. */
const HELD_BY_ALL = ["aws4fetch", "mnemonist", "obliterator"];

test.each([...bundles])("%s contains only listed packages of others", (entry, packages) => {
  const others = packages.filter((path) => !AWS.test(path)).map((path) => path.replace("node_modules/", ""));
  const held = Object.keys(HOLDERS).filter((name) => HOLDERS[name]?.includes(entry));
  const expected = [...HELD_BY_ALL, ...held].filter((name) => !AWS.test(`node_modules/${name}`));
  expect(others).toEqual(expected.sort());
});

test.each(Object.entries(HOLDERS))("%s is held by %j", (name, holders) => {
  const found = [...bundles].filter(([, packages]) => packages.includes(`node_modules/${name}`));
  expect(found.map(([entry]) => entry).sort()).toEqual([...holders].sort());
});

test("only what package.json allows runs code when it is installed", () => {
  const withScripts = locked.flatMap(([path, { hasInstallScript }]) => (hasInstallScript ? [path] : []));
  const allowed = Object.keys(read("package.json").allowScripts).map((name) => `node_modules/${name}`);
  expect(withScripts.sort()).toEqual(allowed.sort());
});

/** What `npm install minutehand` adds without being asked. Peer dependencies that are optional are left out. */
const added = locked.filter(
  ([path, { dev, peer, link }]) => !dev && !peer && !link && !path.startsWith("node_modules/@dynoxide/"),
);

test("no package that an app gets without being asked runs code when it is installed", () => {
  const names = added.map(([path]) => path.replace("node_modules/", ""));
  const { dependencies, peerDependencies } = read("package.json");
  expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  expect(added.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
  const asked = locked.filter(([path]) => path.replace("node_modules/", "") in peerDependencies);
  expect(asked.flatMap(([path, { hasInstallScript }]) => (hasInstallScript ? [path] : []))).toEqual([
    "node_modules/esbuild",
  ]);
});

test("the licences of all packages that an app gets without being asked are the listed ones", () => {
  const licences = added.map(([path, { license }]) => license ?? `${path} says none`);
  expect([...new Set(licences)].sort()).toEqual(["0BSD", "Apache-2.0", "MIT", "MIT-0", "Unlicense"]);
});

/** A folder of this repository, which names the native DynamoDB. It is linked, not installed. */
const OWN_FOLDER = "tools/package/native-dynamodb";
const OWN_LINK = "node_modules/minutehand-native-dynamodb";

test("each package comes from the registry, and each package that every machine installs has its hash", () => {
  const resolved = locked.filter(([, entry]) => entry.resolved !== undefined);
  expect(resolved.map(([path, entry]) => [path, entry.resolved])).toEqual([[OWN_LINK, OWN_FOLDER]]);
  const unhashed = locked.filter(
    ([path, { integrity, inBundle, optional }]) =>
      !integrity && !inBundle && !optional && path !== OWN_LINK && path !== OWN_FOLDER,
  );
  expect(unhashed.map(([path]) => path)).toEqual([]);
});
