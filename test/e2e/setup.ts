import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { apiAt, apiOf } from "./api.ts";
import { deployedTarget } from "./deployed-stack.ts";
import { cannot, PLACES, type Place } from "./places.ts";
import { freshDataDir, outputFile, type RunningStack, removeDataDir, startStack } from "./running-stack.ts";
import { fileSwept, SWEPT_AFTER, type Swept } from "./swept.ts";
import type { Target } from "./target.ts";

declare module "vitest" {
  export interface ProvidedContext {
    target: Target;
    /** The ids of the jobs of `on-time.test.ts`, by their delays in seconds. They are filed first, because the last is due in minutes. */
    waiting: Record<number, string>;
    /** A stack that tests may kill, and jobs that its sweep must hand over. `undefined` at a place where nothing can be killed. */
    mortal: Mortal | undefined;
  }
}

type Mortal = { readonly url: string; readonly pid: number; readonly dataDir: string; readonly swept: Swept };

/**
 * Opens the stack that all suites share, and at once files the jobs that wait longest. If processes can be killed at this place, starts a
 * second stack for that. Answers a function that stops these stacks.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    await Promise.all(stops.map((one) => one()));
  };
  try {
    const opened = await open(process.env);
    stops.push(opened.stop);
    const { target } = opened;
    project.provide("target", target);
    project.provide("waiting", await fileWaiting(target));
    const mortal = cannot(target.place, "kills") === undefined ? await startMortal() : undefined;
    if (mortal) stops.push(mortal.stop);
    project.provide(
      "mortal",
      mortal && { ...mortal.mortal, swept: await fileSwept(apiAt(mortal.mortal.url)) },
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

async function fileWaiting(target: Target): Promise<Record<number, string>> {
  const api = apiOf(target);
  const waiting: Record<number, string> = {};
  for (const delay of [SWEPT_AFTER, 70, 5, 2, 1]) {
    const job = { topic: "reminders", delay, body: { text: `due in ${delay} s` } };
    waiting[delay] = (await api.file(job)).id;
  }
  return waiting;
}

async function startMortal(): Promise<{ mortal: Omit<Mortal, "swept">; stop: () => Promise<void> }> {
  const { dataDir, stack, stop } = await startOwn();
  return { mortal: { url: stack.url, pid: stack.pid, dataDir }, stop };
}

async function startOwn(): Promise<{ dataDir: string; stack: RunningStack; stop: () => Promise<void> }> {
  const dataDir = freshDataDir();
  const stack = await startStack(dataDir);
  const stop = async () => {
    await stack.kill("SIGTERM");
    removeDataDir(dataDir);
  };
  return { dataDir, stack, stop };
}

type Opened = { target: Target; stop: () => Promise<void> };

/**
 * Opens the place that `MINUTEHAND_E2E_PLACE` names, by default `embedded`. At the other places, `MINUTEHAND_E2E_STACK` is the name of the
 * deployed stack.
 */
async function open({ MINUTEHAND_E2E_PLACE, MINUTEHAND_E2E_STACK = "" }: NodeJS.ProcessEnv): Promise<Opened> {
  const place = (MINUTEHAND_E2E_PLACE ?? "embedded") as Place;
  if (!PLACES.includes(place))
    throw new Error(`MINUTEHAND_E2E_PLACE must be one of ${PLACES.join(", ")}, is "${place}"`);
  if (place === "embedded") return embedded();
  return { target: await deployedTarget(place, MINUTEHAND_E2E_STACK), stop: async () => {} };
}

async function embedded(): Promise<Opened> {
  const { dataDir, stack, stop } = await startOwn();
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
