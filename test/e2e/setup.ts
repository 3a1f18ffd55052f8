import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { deployedTarget } from "./deployed-stack.ts";
import { PLACES, type Place } from "./places.ts";
import { freshDataDir, outputFile, removeDataDir, startStack } from "./running-stack.ts";
import type { Target } from "./target.ts";

declare module "vitest" {
  export interface ProvidedContext {
    target: Target;
  }
}

/** Answers a function that stops the stack that all suites share. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { target, stop } = await open(process.env);
  project.provide("target", target);
  return stop;
}

type Opened = { target: Target; stop: () => Promise<void> };

/** `MINUTEHAND_E2E_PLACE`, by default `embedded`. Elsewhere `MINUTEHAND_E2E_STACK` names the deployed stack. */
async function open({ MINUTEHAND_E2E_PLACE, MINUTEHAND_E2E_STACK = "" }: NodeJS.ProcessEnv): Promise<Opened> {
  const place = (MINUTEHAND_E2E_PLACE ?? "embedded") as Place;
  if (!PLACES.includes(place))
    throw new Error(`MINUTEHAND_E2E_PLACE must be one of ${PLACES.join(", ")}, is "${place}"`);
  if (place === "embedded") return embedded();
  return { target: await deployedTarget(place, MINUTEHAND_E2E_STACK), stop: async () => {} };
}

async function embedded(): Promise<Opened> {
  const dataDir = freshDataDir();
  const stack = await startStack(dataDir);
  const stop = async () => {
    await stack.kill("SIGTERM");
    removeDataDir(dataDir);
  };
  return {
    target: {
      place: "embedded",
      api: { url: stack.url },
      log: { file: outputFile(dataDir) },
      promotions: "minutehand-promotions",
      services: readJson(join(dataDir, "runner.json")).services,
      secret: onlyNameIn(readJson(join(dataDir, "secrets.json"))),
    },
    stop,
  };
}

function readJson(path: string) {
  return JSON.parse(readFileSync(path, "utf8"));
}

function onlyNameIn(secrets: Record<string, unknown>): string {
  const [name, ...others] = Object.keys(secrets);
  if (name === undefined || others.length > 0)
    throw new Error(
      `secrets.json must have one secret, that of the topic callbacks, but has [${Object.keys(secrets)}]`,
    );
  return name;
}
