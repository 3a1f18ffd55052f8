import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Stack } from "aws-cdk-lib";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DelayQueue } from "../../../infra/delay-queue.ts";
import { NOTE_BUNDLES, readBundleNote } from "../../../local/app/bundle-note.ts";
import { readAssembly } from "../../../local/template/assembly.ts";
import type { JsonObject } from "../../../local/template/template.ts";

const CONSUMER = join(import.meta.dirname, "..", "..", "..", "src", "consumer", "consumer.ts");

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "minutehand-note-")));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

/** Synthesises an app with the handler of one topic, as `minutehand local` does. */
function synth(handler: string): string {
  const app = new App({ outdir: join(folder, "cdk.out") });
  const queue = new DelayQueue(new Stack(app, "Shop"), "Jobs", { topics: { mail: {} }, removable: true });
  queue.addHandler("mail", handler);
  return app.synth().directory;
}

const ofHandler = (assembly: string): JsonObject => {
  const { Resources } = readAssembly(assembly).template;
  const [, handler] = Object.entries(Resources).find(([id]) => /^JobsHandlermailFunction/.test(id)) ?? [];
  return (handler?.Metadata ?? {}) as JsonObject;
};

test("the runner finds the files and the options with which the app has bundled a handler", () => {
  vi.stubEnv(NOTE_BUNDLES, "true");
  const name = file("name.ts", 'export const name = "ada";');
  const handler = file("mail.ts", 'import { name } from "./name.ts"; export const handler = () => name;');
  const assembly = synth(handler);
  const note = readBundleNote(ofHandler(assembly));
  expect(note?.inputs).toEqual([handler, name]);
  expect(note?.build).toMatchObject({ entryPoints: [handler], format: "cjs", absWorkingDir: process.cwd() });
});

test("an app that is deployed leaves no note of local files", () => {
  expect(ofHandler(synth(file("mail.ts", "export const handler = 1;")))).toEqual({});
});

test("the synthesis warns of a handler that is not wrapped with consumer, and of no other", () => {
  const warningsOf = (handler: string) =>
    readAssembly(synth(handler)).warnings.filter((warning) => warning.includes("not-wrapped"));
  const wrapped = `import { consumer } from ${JSON.stringify(CONSUMER)}; export const handler = consumer(async () => {});`;
  expect(warningsOf(file("wrapped.ts", wrapped))).toEqual([]);
  expect(warningsOf(file("bare.ts", "export const handler = async (event) => {};"))).toEqual([
    expect.stringMatching(/^the handler of topic "mail" in .*bare\.ts is not wrapped with consumer\(…\)/),
  ]);
});
