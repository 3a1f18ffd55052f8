import type { TestProject } from "vitest/node";
import { freshDataDir, removeDataDir, startStack } from "../e2e/running-stack.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The addresses of the stacks, one for each worker. */
    stackUrls: readonly string[];
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = await Promise.all(
    Array.from({ length: project.config.maxWorkers }, async () => {
      const dataDir = freshDataDir();
      return { dataDir, stack: await startStack(dataDir) };
    }),
  );
  project.provide(
    "stackUrls",
    started.map(({ stack }) => stack.url),
  );
  return async () => {
    for (const { dataDir, stack } of started) {
      await stack.kill("SIGTERM");
      removeDataDir(dataDir);
    }
  };
}
