import { createContext } from "../src/environment/context.ts";
import { promote } from "../src/protocol/hand-over/promote.ts";

const ctx = createContext();

/** An error is thrown, so that Lambda retries. */
export async function handler({ id }: { id: string }): Promise<void> {
  try {
    await promote(ctx, id);
  } finally {
    await ctx.telemetry.flush();
  }
}
