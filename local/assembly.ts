import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LocalError } from "./local-error.ts";
import type { Template } from "./template.ts";

/** One synthesised stack, and where its assets lie by their object key. */
export type Assembly = {
  readonly stackName: string;
  readonly template: Template;
  readonly assets: ReadonlyMap<string, string>;
};

type Artifact = { type: string; properties?: { templateFile?: string; stackName?: string; file?: string } };
type AssetFile = { source: { path?: string }; destinations: Record<string, { objectKey: string }> };

/** Reads a cloud assembly folder. It must hold exactly one stack. */
export function readAssembly(outdir: string): Assembly {
  const { artifacts = {} } = readJson<{ artifacts?: Record<string, Artifact> }>(outdir, "manifest.json");
  const stacks = Object.entries(artifacts).filter(([, { type }]) => type === "aws:cloudformation:stack");
  const [stack] = stacks;
  if (stacks.length !== 1 || !stack)
    throw new LocalError(`the app must synthesise exactly one stack to run locally, not ${stacks.length}`);
  const [id, { properties = {} }] = stack;
  const assets = new Map<string, string>();
  for (const artifact of Object.values(artifacts)) {
    if (artifact.type !== "cdk:asset-manifest" || !artifact.properties?.file) continue;
    const { files = {} } = readJson<{ files?: Record<string, AssetFile> }>(outdir, artifact.properties.file);
    for (const { source, destinations } of Object.values(files)) {
      if (!source.path) continue;
      for (const { objectKey } of Object.values(destinations))
        assets.set(objectKey, join(outdir, source.path));
    }
  }
  return {
    stackName: properties.stackName ?? id,
    template: readJson<Template>(outdir, properties.templateFile ?? `${id}.template.json`),
    assets,
  };
}

function readJson<T>(outdir: string, file: string): T {
  return JSON.parse(readFileSync(join(outdir, file), "utf8"));
}
