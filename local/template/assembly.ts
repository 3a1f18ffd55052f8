import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LocalError } from "../local-error.ts";
import { hasDelayQueue } from "./delay-queue.ts";
import type { NamedTemplate } from "./naming.ts";
import type { Template } from "./template.ts";

/** One synthesised stack, and the paths of its assets by their S3 object keys. */
export type Assembly = NamedTemplate & {
  readonly assets: ReadonlyMap<string, string>;
  /** The warnings that the constructs of the stack gave at synth, as the CDK's command line prints them. */
  readonly warnings: readonly string[];
  /** The app's other stacks, from which this stack may import values. */
  readonly others: readonly NamedTemplate[];
};

type Metadata = Record<string, { type: string; data?: unknown }[]>;
type Artifact = {
  type: string;
  metadata?: Metadata;
  additionalMetadataFile?: string;
  properties?: { templateFile?: string; stackName?: string; file?: string; directoryName?: string };
};
type AssetFile = { source: { path?: string }; destinations: Record<string, { objectKey: string }> };
/** One folder of an assembly. Each CDK stage has its own folder. */
type Part = { folder: string; artifacts: Record<string, Artifact> };

/** Chooses the stack named `wanted`, else the only stack, else the only one with a delay queue. Throws `LocalError` if there is none. */
export function readAssembly(outdir: string, wanted?: string): Assembly {
  const parts = partsOf(outdir);
  const stacks = parts.flatMap(({ folder, artifacts }) =>
    Object.entries(artifacts)
      .filter(([, { type }]) => type === "aws:cloudformation:stack")
      .map(([id, artifact]) => ({
        stackName: artifact.properties?.stackName ?? id,
        template: readJson<Template>(folder, artifact.properties?.templateFile ?? `${id}.template.json`),
        warnings: warningsOf(folder, artifact),
      })),
  );
  const stack = wanted === undefined ? chooseOnlyStack(stacks) : findStack(stacks, wanted);
  const assets = new Map(parts.flatMap(assetsOf));
  return { ...stack, assets, others: stacks.filter((other) => other !== stack) };
}

function partsOf(folder: string): Part[] {
  const { artifacts = {} } = readJson<{ artifacts?: Record<string, Artifact> }>(folder, "manifest.json");
  const stages = Object.values(artifacts).flatMap(({ type, properties = {} }) =>
    type === "cdk:cloud-assembly" && properties.directoryName
      ? partsOf(join(folder, properties.directoryName))
      : [],
  );
  return [{ folder, artifacts }, ...stages];
}

function warningsOf(folder: string, { metadata = {}, additionalMetadataFile }: Artifact): string[] {
  const more = additionalMetadataFile ? readJson<Metadata>(folder, additionalMetadataFile) : {};
  const entries = Object.values({ ...metadata, ...more }).flat();
  return entries.flatMap(({ type, data }) => (type === "aws:cdk:warning" ? String(data) : []));
}

function assetsOf({ folder, artifacts }: Part): [string, string][] {
  return Object.values(artifacts).flatMap(({ type, properties = {} }) => {
    if (type !== "cdk:asset-manifest" || !properties.file) return [];
    const { files = {} } = readJson<{ files?: Record<string, AssetFile> }>(folder, properties.file);
    return Object.values(files).flatMap(({ source: { path }, destinations }) =>
      path === undefined
        ? []
        : Object.values(destinations).map(({ objectKey }): [string, string] => [
            objectKey,
            join(folder, path),
          ]),
    );
  });
}

function findStack<Stack extends NamedTemplate>(stacks: readonly Stack[], wanted: string): Stack {
  const stack = stacks.find(({ stackName }) => stackName === wanted);
  if (stack) return stack;
  throw new LocalError(`--stack must name a stack of the app, got "${wanted}"; allowed: ${namesOf(stacks)}`);
}

function chooseOnlyStack<Stack extends NamedTemplate>(stacks: readonly Stack[]): Stack {
  const queues = stacks.filter(({ template }) => hasDelayQueue(template));
  const [stack, ...others] = stacks.length === 1 ? stacks : queues;
  if (stack && others.length === 0) return stack;
  throw new LocalError(
    `the app must have exactly one stack with a delay queue to run locally, got ${queues.length}; ` +
      `choose a stack with --stack NAME, allowed: ${namesOf(stack ? queues : stacks)}`,
  );
}

function namesOf(stacks: readonly NamedTemplate[]): string {
  return stacks.map(({ stackName }) => stackName).join(", ") || "none";
}

function readJson<T>(outdir: string, file: string): T {
  return JSON.parse(readFileSync(join(outdir, file), "utf8"));
}
