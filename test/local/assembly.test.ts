import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readAssembly } from "../../local/assembly.ts";

/** A cloud assembly of these stacks, each with its outputs. */
function assemblyOf(stacks: Record<string, object>): string {
  const folder = mkdtempSync(join(tmpdir(), "minutehand-assembly-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (name: string, value: object) => writeFileSync(join(folder, name), JSON.stringify(value));
  const artifacts = Object.keys(stacks).map((name) => [name, { type: "aws:cloudformation:stack" }]);
  write("manifest.json", { artifacts: Object.fromEntries(artifacts) });
  for (const [name, Outputs] of Object.entries(stacks))
    write(`${name}.template.json`, { Resources: {}, Outputs });
  return folder;
}

const QUEUE = { JobsTable: { Description: "Minutehand table" } };
const OTHER = { Url: { Description: "the shop" } };

test("of an app's stacks the one with a delay queue is played", () => {
  expect(readAssembly(assemblyOf({ Shop: OTHER, Jobs: QUEUE })).stackName).toBe("Jobs");
});

test("an app's only stack is played, whatever it has", () => {
  expect(readAssembly(assemblyOf({ Shop: OTHER })).stackName).toBe("Shop");
});

test.each([
  [{ Jobs: QUEUE, More: QUEUE }, "has 2: of Jobs, More"],
  [{ Shop: OTHER, Site: OTHER }, "has 0: of Shop, Site"],
  [{}, "has 0: of none"],
])("which of %j is meant is asked", (stacks, message) => {
  expect(() => readAssembly(assemblyOf(stacks))).toThrow(message);
});
