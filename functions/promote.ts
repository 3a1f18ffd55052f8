import { createContext } from "../environment/context.ts";
import { promote } from "../protocol/hand-over/promote.ts";

const ctx = createContext();

/** A schedule's look at the job it is named by. What failed is thrown, so that Lambda repeats it. */
export async function handler({ id }: { id: string }): Promise<void> {
  try {
    await promote(ctx, id);
  } finally {
    ctx.telemetry.flush();
  }
}
