import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serveApi } from "../cli/served-api.ts";

const ROOT = join(import.meta.dirname, "..", "..");
/** Inside the repository, so that the client finds the runtime of its generator. */
const FOLDER = join(ROOT, "dist", "generated-client");
const bin = (name: string): string => join(ROOT, "node_modules", ".bin", name);

const USE = `import { cancel, defaults, enqueue, listTopics } from "./client.ts";

export async function use(url: string): Promise<{ topics: string[]; state: string }> {
  defaults.baseUrl = url;
  const filed = await enqueue({ topic: "orders", delay: "30m", body: { orderId: "17" } });
  if (filed.status !== 201 && filed.status !== 200) throw new Error(filed.data.detail);
  const cancelled = await cancel(filed.data.id);
  if (cancelled.status !== 200) throw new Error(cancelled.data.detail);
  const listed = await listTopics();
  if (listed.status !== 200) throw new Error(listed.data.detail);
  return { topics: listed.data.topics.map(({ topic }) => topic), state: cancelled.data.state };
}

// @ts-expect-error a job needs a topic
export const wrong = () => enqueue({ delay: "30m", body: 1 });
`;

test("a client that is generated from the OpenAPI document compiles, and files and cancels a job", async () => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const document = join(ROOT, "docs", "reference", "openapi.json");
  execFileSync(bin("oazapfts"), [document, join(FOLDER, "client.ts")], { stdio: "ignore" });
  writeFileSync(join(FOLDER, "use.ts"), USE);
  const compilerOptions = {
    ...{ module: "esnext", moduleResolution: "bundler", target: "es2024", lib: ["es2024", "dom"] },
    ...{ strict: true, types: [], noEmit: true, allowImportingTsExtensions: true },
  };
  writeFileSync(join(FOLDER, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
  execFileSync(bin("tsc"), ["--project", FOLDER, "--pretty", "false"], { stdio: "pipe" });

  await using api = await serveApi();
  const { use } = await import(join(FOLDER, "use.ts"));
  expect(await use(api.url)).toEqual({
    topics: ["orders", "work", "events", "precise"],
    state: "cancelled",
  });
});
