import { createContext } from "../environment/context.ts";
import { promote } from "../protocol/hand-over/promote.ts";

const ctx = createContext();

/** An error is thrown, so that Lambda retries. */
export async function handler({ id }: { id: string }): Promise<void> {
  try {
    await promote(ctx, id);
  } finally {
    ctx.telemetry.flush();
  }
}
