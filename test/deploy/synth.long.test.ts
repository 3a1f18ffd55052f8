import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..", "..");
const folder = mkdtempSync(join(tmpdir(), "minutehand-synth-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("`cdk synth` finds nothing wrong with the app by the schemas of CloudFormation", async () => {
  const cdk = join(ROOT, "node_modules", "aws-cdk", "bin", "cdk");
  // What the CDK finds against the schemas counts as an error.
  const strict = ["--context", "@aws-cdk/core:validateAgainstDefaultRules=true"];
  const env = { ...process.env, CDK_VALIDATION: "true" };
  const args = [cdk, "synth", "--quiet", "--output", folder, ...strict];
  await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
  expect(readdirSync(folder)).toContain("Minutehand.template.json");
});
