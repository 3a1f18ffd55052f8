import type { TestProject } from "vitest/node";
import { freshDataDir, removeDataDir, startStack } from "../e2e/running-stack.ts";

declare module "vitest" {
  export interface ProvidedContext {
    stackUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = freshDataDir();
  const stack = await startStack(dataDir);
  project.provide("stackUrl", stack.url);
  return async () => {
    await stack.kill("SIGTERM");
    removeDataDir(dataDir);
  };
}
