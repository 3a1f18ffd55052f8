import { join } from "node:path";
import { buildSync } from "esbuild";
import { expect, test } from "vitest";
import { OPTIONS } from "../../infra/bundling/bundle.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The sources that esbuild puts into the bundle of a program that uses only this client. */
function sourcesFor(client: string): string[] {
  const stdin = { contents: `export { ${client} } from "./src/client/client.ts";`, resolveDir: ROOT };
  const { metafile } = buildSync({ ...OPTIONS, stdin, absWorkingDir: ROOT, outfile: "bundle.mjs" });
  return Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([source, { bytesInOutput }]) => (bytesInOutput > 0 ? [source] : [])),
  );
}

const ENQUEUE = "src/protocol/file/enqueue.ts";
const PULL = "src/protocol/run/pull.ts";
const REQUESTS = "src/client/client-over.ts";
const ROUTER = "src/http/app.ts";
const LOOP = "src/client/pull.ts";

test.each([
  ["createClient", [REQUESTS], [ENQUEUE, PULL, ROUTER, LOOP]],
  ["directClient", [ENQUEUE], [PULL, REQUESTS, ROUTER, LOOP]],
  ["directWorker", [PULL], [ENQUEUE, REQUESTS, ROUTER, LOOP]],
  ["pull", [LOOP], [ENQUEUE, PULL, REQUESTS, ROUTER]],
])("a program with %s bundles only what it needs", (client, needed, others) => {
  const sources = sourcesFor(client);
  expect(sources).toEqual(expect.arrayContaining(needed));
  expect(sources.filter((source) => others.includes(source))).toEqual([]);
  // The active span is found without a package.
  expect(sources.filter((source) => source.includes("@opentelemetry"))).toEqual([]);
});
