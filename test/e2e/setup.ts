import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { apiAt } from "./api.ts";
import { freshDataDir, removeDataDir, startStack } from "./running-stack.ts";

declare module "vitest" {
  export interface ProvidedContext {
    url: string;
    logFile: string;
    /** The long-waiting jobs, by the seconds of their delay: filed first, looked at last. */
    waiting: Record<number, string>;
  }
}

/** One stack for all suites, and first of all the jobs that take longest to fall due. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = freshDataDir();
  const logFile = join(dataDir, "output.log");
  const stack = await startStack(dataDir, logFile);
  const api = apiAt(stack.url);
  const waiting: Record<number, string> = {};
  for (const delay of [250, 70, 5, 2, 1]) {
    waiting[delay] = (await api.file({ topic: "reminders", delay, body: { text: `due in ${delay} s` } })).id;
  }
  project.provide("url", stack.url);
  project.provide("logFile", logFile);
  project.provide("waiting", waiting);
  return async () => {
    await stack.kill("SIGTERM");
    removeDataDir(dataDir);
  };
}
