import { afterAll } from "vitest";
import { freshDataDir, type RunningStack, removeDataDir, startStack } from "../e2e/running-stack.ts";

/** A local stack of a test file's own, for tests that stop it or move its clock. It ends after the tests. */
export function ownStack() {
  const dataDir = freshDataDir();
  let stack: RunningStack | undefined;
  afterAll(async () => {
    await stack?.kill("SIGTERM");
    removeDataDir(dataDir);
  });
  return {
    /** Starts the stack with the data of its last start. `port`: by default a free one. */
    async start(port?: number): Promise<RunningStack> {
      stack = await startStack(dataDir, port);
      return stack;
    },
  };
}
