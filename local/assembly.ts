import { readFileSync } from "node:fs";
import { join } from "node:path";
import { hasDelayQueue } from "./delay-queue.ts";
import { LocalError } from "./local-error.ts";
import type { NamedTemplate } from "./naming.ts";
import type { Template } from "./template.ts";

/** One synthesised stack, and where its assets lie by their object key. */
export type Assembly = NamedTemplate & {
  readonly assets: ReadonlyMap<string, string>;
  /** The app's other stacks, from which it may import. */
  readonly others: readonly NamedTemplate[];
};

type Artifact = { type: string; properties?: { templateFile?: string; stackName?: string; file?: string } };
type AssetFile = { source: { path?: string }; destinations: Record<string, { objectKey: string }> };

/** Reads a cloud assembly folder. Of its stacks one is played: the only one, or the only one that has a delay queue. */
export function readAssembly(outdir: string): Assembly {
  const { artifacts = {} } = readJson<{ artifacts?: Record<string, Artifact> }>(outdir, "manifest.json");
  const stacks = Object.entries(artifacts)
    .filter(([, { type }]) => type === "aws:cloudformation:stack")
    .map(([id, { properties = {} }]) => ({
      stackName: properties.stackName ?? id,
      template: readJson<Template>(outdir, properties.templateFile ?? `${id}.template.json`),
    }));
  const stack = onlyOne(stacks);
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
  return { ...stack, assets, others: stacks.filter((other) => other !== stack) };
}

function onlyOne(stacks: readonly NamedTemplate[]): NamedTemplate {
  const queues = stacks.filter(({ template }) => hasDelayQueue(template));
  const [stack, ...others] = stacks.length === 1 ? stacks : queues;
  if (stack && others.length === 0) return stack;
  const names = (stack ? queues : stacks).map(({ stackName }) => stackName).join(", ") || "none";
  throw new LocalError(
    `the app must have exactly one stack with a delay queue to run locally, has ${queues.length}: of ${names}`,
  );
}

function readJson<T>(outdir: string, file: string): T {
  return JSON.parse(readFileSync(join(outdir, file), "utf8"));
}
