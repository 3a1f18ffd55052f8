import { errorText } from "./local-error.ts";

/** Cleanup steps, which run once, the newest first. If one step fails, the others still run, and `run` then rejects. */
export type Teardown = { readonly add: (step: () => unknown) => void; readonly run: () => Promise<void> };

export function createTeardown(): Teardown {
  const steps: (() => unknown)[] = [];
  let running: Promise<void> | undefined;

  async function runAll(): Promise<void> {
    const errors: unknown[] = [];
    for (let step = steps.pop(); step; step = steps.pop()) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 0) return;
    const reasons = errors.map(errorText).join("; ");
    throw new AggregateError(errors, `parts of the local stack did not end cleanly: ${reasons}`);
  }

  return {
    add: (step) => steps.push(step),
    run: () => {
      running ??= runAll();
      return running;
    },
  };
}
