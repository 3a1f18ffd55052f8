import { MinutehandError } from "../core/errors.ts";
import { iso, parseShift } from "../general/times.ts";
import type { JobRef } from "./job-ref.ts";
import type { CallOptions, Changes, Duration } from "./options.ts";

type Seen = { readonly id: string; readonly revision: number; readonly dueAt: string };
type Calls = {
  get: (job: JobRef, options?: CallOptions) => Promise<Seen>;
  reschedule: (job: JobRef, change: Changes) => Promise<Seen>;
};

/** How often a job that others change all the time is read. */
const TRIES = 10;

/** Lets `reschedule` take `shift`, which the API takes only for many jobs. */
export function withShift<C extends Record<keyof Calls, unknown>>(calls: C): C {
  // The types of topics and bodies do not matter here.
  const { get, reschedule } = calls as unknown as Calls;
  const shifting = (job: JobRef, { shift, ...change }: Changes) =>
    shift === undefined ? reschedule(job, change) : shiftJob({ get, reschedule }, job, shift, change);
  return { ...calls, reschedule: shifting };
}

/** Reads the job's time, and moves the job from there. If somebody else has changed the job in between, does both again. */
async function shiftJob(
  { get, reschedule }: Calls,
  job: JobRef,
  shift: Duration,
  change: Omit<Changes, "shift">,
): Promise<Seen> {
  const by = shiftIn(shift, change);
  const { signal, ifMatch } = change;
  let seen = await get(job, { signal });
  for (let i = 1; ; i++) {
    const dueAt = iso(Date.parse(seen.dueAt) + by);
    try {
      return await reschedule(seen.id, { ...change, dueAt, ifMatch: ifMatch ?? seen } as Changes);
    } catch (error) {
      const isChanged = error instanceof MinutehandError && error.code === "changed-meanwhile";
      if (!isChanged || ifMatch !== undefined || i === TRIES) throw error;
    }
    // Not by its key, which another job can have by now.
    seen = await get(seen.id, { signal });
  }
}

/** Reads a shift in ms. Throws `bad-request` for what only plain JavaScript can give. */
function shiftIn(shift: Duration, change: object): number {
  // A repeat would read the time to which the first call has moved the job: it would be another request.
  const without = ["delay", "dueAt", "idempotencyKey"].find((name) => Object(change)[name] !== undefined);
  if (without !== undefined)
    throw new MinutehandError("bad-request", `shift must be given without ${without}`);
  const by = parseShift(shift);
  if (by !== undefined && by !== 0) return by;
  const rule = `shift must be seconds or a text such as "2h" or "-30m", not 0, got ${JSON.stringify(shift)}`;
  throw new MinutehandError("bad-request", rule);
}
