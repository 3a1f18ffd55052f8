import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { apiOf } from "./api.ts";
import { deployedTarget } from "./deployed-stack.ts";
import { PLACES, type Place } from "./places.ts";
import { freshDataDir, removeDataDir, startStack } from "./running-stack.ts";
import type { Target } from "./target.ts";

declare module "vitest" {
  export interface ProvidedContext {
    target: Target;
    /** The long-waiting jobs, by the seconds of their delay: filed first, looked at last. */
    waiting: Record<number, string>;
  }
}

/** One stack for all suites, and first of all the jobs that take longest to fall due. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { target, stop } = await open(process.env);
  const api = apiOf(target);
  const waiting: Record<number, string> = {};
  try {
    for (const delay of [225, 70, 5, 2, 1]) {
      const job = { topic: "reminders", delay, body: { text: `due in ${delay} s` } };
      waiting[delay] = (await api.file(job)).id;
    }
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide("target", target);
  project.provide("waiting", waiting);
  return stop;
}

type Opened = { target: Target; stop: () => Promise<void> };

/** `MINUTEHAND_E2E_PLACE`, by default `embedded`; elsewhere the deployed stack is `MINUTEHAND_E2E_STACK`. */
async function open({ MINUTEHAND_E2E_PLACE, MINUTEHAND_E2E_STACK = "" }: NodeJS.ProcessEnv): Promise<Opened> {
  const place = (MINUTEHAND_E2E_PLACE ?? "embedded") as Place;
  if (!PLACES.includes(place))
    throw new Error(`MINUTEHAND_E2E_PLACE must be one of ${PLACES.join(", ")}, is "${place}"`);
  if (place === "embedded") return embedded();
  return { target: await deployedTarget(place, MINUTEHAND_E2E_STACK), stop: async () => {} };
}

async function embedded(): Promise<Opened> {
  const dataDir = freshDataDir();
  const file = join(dataDir, "output.log");
  const stack = await startStack(dataDir, file);
  return {
    target: {
      place: "embedded",
      api: { url: stack.url },
      log: { file },
      promotions: "minutehand-promotions",
      services: readJson(join(dataDir, "runner.json")).services,
      secret: onlyNameIn(readJson(join(dataDir, "secrets.json"))),
    },
    stop: async () => {
      await stack.kill("SIGTERM");
      removeDataDir(dataDir);
    },
  };
}

function readJson(path: string) {
  return JSON.parse(readFileSync(path, "utf8"));
}

function onlyNameIn(secrets: Record<string, unknown>): string {
  const [name, ...others] = Object.keys(secrets);
  if (name === undefined || others.length > 0)
    throw new Error(`there must be one secret, that of callbacks, there are ${Object.keys(secrets)}`);
  return name;
}
