import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readAssembly } from "../../../local/template/assembly.ts";

/** Writes a cloud assembly with these stacks, each with its outputs, and with the `staged` stacks in a stage. */
function assemblyOf(stacks: Record<string, object>, staged?: Record<string, object>): string {
  const folder = mkdtempSync(join(tmpdir(), "minutehand-assembly-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const stage = { type: "cdk:cloud-assembly", properties: { directoryName: "assembly-Stage" } };
  write(folder, stacks, staged ? { Stage: stage } : {});
  if (staged) write(join(folder, "assembly-Stage"), staged);
  return folder;
}

function write(folder: string, stacks: Record<string, object>, more: object = {}): void {
  mkdirSync(folder, { recursive: true });
  const put = (name: string, value: object) => writeFileSync(join(folder, name), JSON.stringify(value));
  const artifacts = Object.keys(stacks).flatMap((name) => [
    [name, { type: "aws:cloudformation:stack" }],
    [`${name}.assets`, { type: "cdk:asset-manifest", properties: { file: `${name}.assets.json` } }],
  ]);
  put("manifest.json", { artifacts: { ...Object.fromEntries(artifacts), ...more } });
  for (const [name, Outputs] of Object.entries(stacks)) {
    put(`${name}.template.json`, { Resources: {}, Outputs });
    const file = { source: { path: "asset.x" }, destinations: { here: { objectKey: `${name}.zip` } } };
    put(`${name}.assets.json`, { files: { x: file } });
  }
}

const QUEUE = { JobsTable: { Description: "Minutehand table" } };
const OTHER = { Url: { Description: "the shop" } };

test("of an app's stacks the one with a delay queue is played", () => {
  expect(readAssembly(assemblyOf({ Shop: OTHER, Jobs: QUEUE })).stackName).toBe("Jobs");
});

test("an app's only stack is played, whatever it has", () => {
  expect(readAssembly(assemblyOf({ Shop: OTHER })).stackName).toBe("Shop");
});

test("a stack of a stage is played with the assets in the stage's folder", () => {
  const folder = assemblyOf({ Shop: OTHER }, { "Prod-Jobs": QUEUE });
  const { stackName, assets, others } = readAssembly(folder);
  expect(stackName).toBe("Prod-Jobs");
  expect(assets.get("Prod-Jobs.zip")).toBe(join(folder, "assembly-Stage", "asset.x"));
  expect(others.map((other) => other.stackName)).toEqual(["Shop"]);
});

test("of several stacks with a delay queue, or without, the named stack is played", () => {
  const folder = assemblyOf({ Jobs: QUEUE, Site: OTHER }, { More: QUEUE });
  expect(["More", "Site"].map((name) => readAssembly(folder, name).stackName)).toEqual(["More", "Site"]);
  expect(() => readAssembly(folder, "Nobody")).toThrow(
    '--stack must name a stack of the app, got "Nobody"; allowed: Jobs, Site, More',
  );
});

test.each([
  [{ Jobs: QUEUE, More: QUEUE }, "got 2; choose a stack with --stack NAME, allowed: Jobs, More"],
  [{ Shop: OTHER, Site: OTHER }, "got 0; choose a stack with --stack NAME, allowed: Shop, Site"],
  [{}, "got 0; choose a stack with --stack NAME, allowed: none"],
])("%j needs --stack", (stacks, message) => {
  expect(() => readAssembly(assemblyOf(stacks))).toThrow(message);
});
